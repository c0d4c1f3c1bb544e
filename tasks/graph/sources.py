"""Where embeddings come from: imported, simulated, or extracted from images by a model. Each way is a few cells."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dat_lib.backbones.library_versions import RUNTIME, versions
from dat_lib.backbones.registry import BACKBONES
from dat_lib.datasets import embeddings_folder
from dat_lib.datasets.registry import DATASETS, DatasetKind
from data_catalog.errors import UserError
from data_catalog.planning.cell import Cell
from data_catalog.specs.collection import Specs
from data_catalog.specs.models import BackboneSpec, DatasetSpec, ImportedEmbeddings
from data_catalog.specs.paths import expanded
from data_catalog.specs.prompts import PromptSet
from data_catalog.store.source_files import AbsentError, Listing, Progress, Seen, SourceFiles
from tasks.engine.resolution import ChangedImages
from tasks.graph.kinds import IMPORTED, backbone_kind, dataset_kind
from tasks.source_facts import UNKNOWN, facts_of, look_at_images, look_at_model


@dataclass(frozen=True)
class Dataset:
    """A dataset by its name, with its prompts, and those chosen in their place where others are."""

    name: str
    spec: DatasetSpec
    prompts: PromptSet
    chosen: str = ""
    chosen_prompts: PromptSet | None = None

    def text_address(self, backbone: "Backbone") -> dict[str, str | int]:
        """Return the address of the embeddings of its prompts."""
        return {
            "dataset": self.name,
            "backbone": backbone.name,
            **({"variant": f"prompts={self.chosen}"} if self.chosen else {}),
        }

    @property
    def all_prompts(self) -> list[str]:
        """Every prompt that is to be embedded."""
        return (self.chosen_prompts or self.prompts).all_prompts()


@dataclass(frozen=True)
class Backbone:
    """A backbone by its name."""

    name: str
    spec: BackboneSpec


@dataclass(frozen=True)
class Sources:
    """The cells that hold samples and embeddings.

    `look`: whether the files that specs name are looked at; without, what is in them counts as unknown. `progress` is
    told how far the reading of changed ones is. `inputs` are the files and folders that were looked at, `remarks` what
    a person should know of them.
    """

    specs: Specs
    look: bool = True
    progress: Progress = lambda name, done, total: None
    inputs: set[Path] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)
    _seen: dict[str, Seen | None] = field(default_factory=dict, repr=False)
    """What was seen of each source: the cells of one request rest on one look."""

    def embedding_cells(self, dataset: Dataset, backbone: Backbone) -> dict[str, Cell]:
        """Return the cells for samples, image embeddings and text embeddings, by step, and those that these need."""
        imported = dataset.spec.embeddings.get(backbone.name)
        if imported is not None:
            self._compare_import(dataset, backbone, imported)
            return _given(dataset, backbone, **_imported(dataset, imported))
        kind = dataset_kind(self.specs.path("datasets", dataset.name), dataset.spec)
        model = backbone_kind(self.specs.path("backbones", backbone.name), backbone.spec)
        if dataset.spec.source is not None and kind is not None:
            if kind.gives != "embeddings" and model is not None:
                return self._extracted(dataset, backbone, kind)
            if kind.gives == "embeddings" and kind.name == backbone.spec.kind:
                return _given(dataset, backbone, kind=kind.name, settings=dict(dataset.spec.source.settings))
        names = f"--dataset {dataset.name} --backbone {backbone.name}"
        raise UserError(
            f"there are no embeddings of {dataset.name} by {backbone.name}",
            remedy=f"import them: dat import embeddings FOLDER {names}",
        )

    def dataset_cells(self, dataset: Dataset) -> dict[str, Cell]:
        """Return the cells that say which samples and which image files a dataset has."""
        source, kind = dataset.spec.source, dataset_kind(self.specs.path("datasets", dataset.name), dataset.spec)
        assert source is not None
        assert kind is not None
        root = self.specs.data / dataset.name
        if source.root is not None:
            root = expanded(source.root, self.specs.path("datasets", dataset.name).parent).resolve()
        settings: dict[str, Any] = dict(source.settings)
        if kind.words:
            words = {"classes": dataset.prompts.classes, "attributes": dataset.prompts.attributes}
            settings = {**words, **settings}
        params = {"kind": kind.name, "settings": settings}
        resources = {"root": str(root), "digests": self._memory("dataset", dataset.name)}
        drawn = kind.gives == "drawn images"
        seen = None
        if not drawn and self.look:
            seen = self._once(f"dataset {dataset.name}", lambda: self._look(dataset.name, kind, params, resources))
        return {
            step: Cell(
                step=step,
                address={"dataset": dataset.name},
                modules=(f"tasks.steps.{step}", DATASETS.module(kind.name).__name__),
                params=params,
                facts={} if drawn else UNKNOWN[step] if seen is None else facts_of(step, seen),
                resources=resources,
                explain=ChangedImages(params, resources) if step == "files" and not drawn else None,
            )
            for step in ("samples", "files")
        }

    def weights_cell(self, backbone: Backbone) -> Cell:
        """Return the cell that says what a model is: its weights, activation, preprocessing and the like."""
        kind = backbone_kind(self.specs.path("backbones", backbone.name), backbone.spec)
        assert kind is not None
        resources: dict[str, Any] = {
            "device": os.environ.get("DAT_DEVICE", "auto"),
            "weights": None,
            "digests": self._memory("backbone", backbone.name),
        }
        if backbone.spec.weights is not None:
            path = expanded(backbone.spec.weights, self.specs.path("backbones", backbone.name).parent).resolve()
            resources["weights"] = str(path)
            self.inputs.add(path)
            if self.look and not path.exists():
                raise UserError("there is no such file or folder", where=str(path))
        params = {"kind": kind.name, "settings": backbone.spec.settings, "dimension": backbone.spec.dimension}
        seen = None
        if self.look:
            name = f"backbone {backbone.name}"
            seen = self._once(name, lambda: look_at_model(params, resources, self.progress))
        if seen is not None:
            self.inputs.update(map(Path, (*seen.listing.says, *seen.listing.files)))
        return Cell(
            step="weights",
            address={"backbone": backbone.name},
            modules=("tasks.steps.weights", BACKBONES.module(kind.name).__name__),
            params=params,
            facts={
                "libraries": versions(*kind.libraries, *RUNTIME),
                **(UNKNOWN["weights"] if seen is None else facts_of("weights", seen)),
            },
            resources=resources,
        )

    def _extracted(self, dataset: Dataset, backbone: Backbone, kind: DatasetKind) -> dict[str, Cell]:
        """Cells for embeddings that a model makes of images and prompts.

        Embeddings depend on the images, not on what is said of them, so a corrected label embeds nothing again. Where
        images are files, the digests among the inputs say all about them; drawn ones depend on how they are drawn.
        """
        cells, weights = self.dataset_cells(dataset), self.weights_cell(backbone)
        files, drawn = cells["files"], kind.gives == "drawn images"
        assert dataset.spec.source is not None
        both = {"dataset": dataset.name, "backbone": backbone.name}
        images = Cell(
            step="image_embeddings",
            address=both,
            modules=("tasks.steps.image_embeddings", *files.modules[1:], *weights.modules[1:]),
            params={
                **({"dataset": files.params} if drawn else {}),
                "backbone": weights.params,
                "tolerance": dataset.spec.source.tolerance,
            },
            parents={"files": files.name, "weights": weights.name},
            resources={**weights.resources, "dataset": files.params, "root": files.resources["root"]},
        )
        texts = Cell(
            step="text_embeddings",
            address=dataset.text_address(backbone),
            modules=("tasks.steps.text_embeddings", *weights.modules[1:]),
            params={"backbone": weights.params, "prompts": dataset.all_prompts},
            parents={"weights": weights.name},
            resources=weights.resources,
        )
        return {**cells, **{cell.step: cell for cell in (weights, images, texts)}}

    def _once(self, name: str, look: Callable[[], Seen | None]) -> Seen | None:
        if name not in self._seen:
            self._seen[name] = look()
        return self._seen[name]

    def _look(self, name: str, kind: DatasetKind, params: dict[str, Any], resources: dict[str, Any]) -> Seen | None:
        """Look at the files of a dataset; None where that must wait until it is downloaded, or is told when it runs."""
        self.inputs.add(Path(resources["root"]))
        if self.specs.digests is not None:
            with suppress(OSError):  # a plan may be the first that is asked of a home
                self.specs.digests.mkdir(parents=True, exist_ok=True)
        try:
            seen = look_at_images(params, resources, self.progress)
        except AbsentError as absent:
            if kind.required:
                raise UserError(str(absent)) from absent
            return None
        except ValueError:
            return None
        root = Path(seen.listing.root)
        self.inputs.update([root, *(root / said for said in seen.listing.says)])
        if seen.gone:
            self.remarks.append(f"the files of {name} are not there now: they count as they were last seen")
        return seen

    def _compare_import(self, dataset: Dataset, backbone: Backbone, entry: ImportedEmbeddings) -> None:
        """Remark on imported files that have changed since: what was imported goes on to count."""
        expected = {embeddings_folder.IMAGES: entry.images_sha256, embeddings_folder.TEXTS: entry.texts_sha256}
        there = tuple(name for name in expected if Path(entry.folder, name).is_file())
        if not self.look or not there:
            return
        self.inputs.update(Path(entry.folder, name) for name in expected)
        name = f"{dataset.name}-{backbone.name}"
        memory = self._memory("import", name)
        files = SourceFiles(name, entry.folder, Path(memory) if memory else None, self.progress)
        seen = files.look(lambda: Listing(entry.folder, there))
        assert seen is not None
        for file in there:
            if seen.digests[file] != expected[file]:
                again = f"dat import embeddings {entry.folder} --dataset {dataset.name} --backbone {backbone.name}"
                self.remarks.append(
                    f"{Path(entry.folder, file)} has changed since it was imported: `{again}` takes it in"
                )

    def _memory(self, kind: str, name: str) -> str | None:
        return str(self.specs.digests / f"{kind}-{name}.parquet") if self.specs.digests is not None else None


def _imported(dataset: Dataset, entry: ImportedEmbeddings) -> dict[str, Any]:
    return {
        "kind": IMPORTED,
        "settings": {"n_classes": len(dataset.prompts.classes), "n_attributes": len(dataset.prompts.attributes)},
        "facts": {"images_sha256": entry.images_sha256, "texts_sha256": entry.texts_sha256},
        "resources": {"folder": entry.folder},
    }


def _given(
    dataset: Dataset, backbone: Backbone, *, kind: str, settings: dict[str, Any], **more: Any
) -> dict[str, Cell]:
    """Cells for embeddings that exist already or are drawn."""

    both: dict[str, str | int] = {"dataset": dataset.name, "backbone": backbone.name}

    def cell(step: str, address: dict[str, str | int] = both, **params: Any) -> Cell:
        return Cell(
            step=step,
            address=address,
            modules=(f"tasks.steps.given_{step}", DATASETS.module(kind).__name__),
            params={"kind": kind, "settings": settings, **params},
            **more,
        )

    texts = cell("text_embeddings", dataset.text_address(backbone), prompts=dataset.all_prompts)
    return {made.step: made for made in (cell("samples"), cell("image_embeddings"), texts)}
