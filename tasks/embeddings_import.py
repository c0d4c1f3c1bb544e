"""Bringing in embeddings that somebody has already: everything is checked before anything is stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from dat_lib.datasets.embeddings_folder import IMAGES, PROMPTS, TEXTS, EmbeddingsFolder, file_sha256
from dat_lib.datasets.source import DataError
from data_catalog.errors import UserError, explained
from data_catalog.home import Home
from data_catalog.planning.cell import Cell
from data_catalog.specs.collection import Kind, Specs
from data_catalog.specs.models import BackboneSpec, DatasetSpec, Groups, ImportedEmbeddings, Spec, Split, is_name
from data_catalog.specs.prompts import PromptSet
from data_catalog.specs.toml import read_toml
from data_catalog.store.artifacts import write_atomically
from data_catalog.store.content import content_digest
from tasks.graph.memory_needs import check_memory
from tasks.graph.sources import Backbone, Dataset, Sources
from tasks.steps.given_samples import samples_table


class FolderPrompts(PromptSet):
    """`prompts.toml` of an embeddings folder: a prompt set, and how the dataset is to be used."""

    reference_split: Split = "train"
    groups: Groups = "class_attribute"


@dataclass(frozen=True)
class Imported:
    """What an import found."""

    samples: int
    dimension: int
    prompts: int
    cells: Sequence[Cell]


def import_embeddings(
    home: Home, folder: Path, dataset: str, backbone: str, compute: Callable[[Sequence[Cell]], None]
) -> Imported:
    """Check a folder, have its cells computed, then write the specs that make it known.

    The specs come last, so an import that fails leaves no trace in what can be asked for.
    """
    for name in (dataset, backbone):
        if not is_name(name):
            raise UserError(f"{name!r} is no name", remedy="use letters, digits, '.', '_' and '-'")
    if not folder.is_dir():
        raise UserError("there is no such folder", where=str(folder))
    found = read_toml(folder / PROMPTS, FolderPrompts)
    check_memory(found, found.groups, where=str(folder / PROMPTS), dimension=1)
    prompts = PromptSet(**found.model_dump(include=set(PromptSet.model_fields)))
    source = EmbeddingsFolder(folder, n_classes=len(prompts.classes), n_attributes=len(prompts.attributes))
    try:
        samples, images, texts = source.samples(), source.images(), source.texts(prompts.all_prompts())
    except DataError as error:
        raise UserError(str(error)) from error
    if images.shape[1] != texts.shape[1]:
        raise UserError(
            f"images have {images.shape[1]} dimensions, prompts {texts.shape[1]}",
            where=str(folder),
            remedy="export both from the same model's joint space",
        )
    for split, use in (("test", "evaluated"), (found.reference_split, "taken as references")):
        if not (samples.split == split).any():
            raise UserError(f"no sample has the split {split}, so none could be {use}", where=str(folder / IMAGES))
    tested = int((samples.split == "test").sum())
    check_memory(found, found.groups, where=str(folder / PROMPTS), tested=tested, dimension=images.shape[1])
    entry = ImportedEmbeddings(
        folder=str(folder.absolute()),
        samples=content_digest(samples_table(samples)),
        images_sha256=file_sha256(folder / IMAGES),
        texts_sha256=file_sha256(folder / TEXTS),
    )
    specs = Specs.from_environment(home)
    spec = _dataset_spec(specs, home, dataset, backbone, entry, found, prompts)
    model = _backbone_spec(specs, backbone, images.shape[1])
    given = Sources(specs).embedding_cells(Dataset(dataset, spec, prompts), Backbone(backbone, model))
    cells = list(given.values())
    compute(cells)
    _write(home, "prompts", dataset, prompts)
    if not specs.files("backbones", backbone):
        _write(home, "backbones", backbone, model)
    _write(home, "datasets", dataset, spec)
    return Imported(len(images), images.shape[1], len(texts), cells)


def _dataset_spec(
    specs: Specs,
    home: Home,
    dataset: str,
    backbone: str,
    entry: ImportedEmbeddings,
    found: FolderPrompts,
    prompts: PromptSet,
) -> DatasetSpec:
    """Return the dataset with this backbone added; an error where it would contradict what is known of it."""
    former: dict[str, ImportedEmbeddings] = {}
    if specs.files("datasets", dataset):
        path = specs.path("datasets", dataset)
        if home.specs not in path.parents:
            raise UserError(f"dataset {dataset} is defined already", where=str(path), remedy="choose another --dataset")
        former = {name: other for name, other in specs.dataset(dataset).embeddings.items() if name != backbone}
        for name, other in former.items():
            if other.samples != entry.samples:
                raise UserError(
                    f"the samples differ from those of {dataset} imported with {name}",
                    where=entry.folder,
                    remedy="ids, splits, labels and attributes must agree, in order; or choose another --dataset",
                )
        if former and specs.prompt_set(dataset) != prompts:
            raise UserError(
                f"{PROMPTS} differs from that of {dataset} imported with {', '.join(former)}",
                where=entry.folder,
                remedy="use the same prompts, or choose another --dataset",
            )
    return DatasetSpec(
        title=f"imported from {Path(entry.folder).name}",
        prompts=dataset,
        groups=found.groups,
        reference_split=found.reference_split,
        embeddings={**former, backbone: entry},
    )


def _backbone_spec(specs: Specs, name: str, dimension: int) -> BackboneSpec:
    if not specs.files("backbones", name):
        return BackboneSpec(title="imported", kind="precomputed", dimension=dimension)
    known = specs.backbone(name)
    if known.dimension is not None and known.dimension != dimension:
        raise UserError(
            f"backbone {name} has {known.dimension} dimensions, these embeddings {dimension}",
            where=str(specs.path("backbones", name)),
            remedy="choose another --backbone",
        )
    return known


def _write(home: Home, kind: Kind, name: str, spec: Spec) -> None:
    text = tomli_w.dumps(spec.model_dump(exclude_none=True))
    with explained(home.specs):
        for folder in (home.specs, home.specs / kind):
            folder.mkdir(exist_ok=True)
    write_atomically(home.specs / kind / f"{name}.toml", text)
