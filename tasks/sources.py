"""Where embeddings come from: imported, simulated, or extracted from images by a model. Each way is a few cells."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dat_lib.backbones.library_versions import RUNTIME, versions
from dat_lib.datasets import embeddings_folder, simulated
from data_catalog.canonical import digest_json
from data_catalog.cell import Cell
from data_catalog.errors import UserError
from data_catalog.file_digests import FileDigests
from data_catalog.specs.collection import Specs
from data_catalog.specs.models import BackboneSpec, DatasetSpec, ImageSource, ImportedEmbeddings, SimulatedSource
from data_catalog.specs.prompts import PromptSet

_BACKBONES = {
    "open_clip": "dat_lib.backbones.open_clip_models",
    "transformers": "dat_lib.backbones.transformers_models",
}
# All that a loader may use: those that a model does not use are not among its facts, and change nothing downstream.
_LIBRARIES = {"open_clip": ("open_clip_torch", "timm", "transformers"), "transformers": ("transformers",)}
_OWN_WORDS = ("sample_table", "image_folder")


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
    """The cells that hold samples and embeddings. `inputs` are the files and folders that were read to make them."""

    specs: Specs
    inputs: set[Path] = field(default_factory=set)

    def embedding_cells(self, dataset: Dataset, backbone: Backbone) -> dict[str, Cell]:
        """Return the cells for samples, image embeddings and text embeddings, by step, and those that these need."""
        source = dataset.spec.source
        imported = dataset.spec.embeddings.get(backbone.name)
        if imported is not None:
            return _given(dataset, backbone, **_imported(dataset, imported))
        if isinstance(source, SimulatedSource) and backbone.spec.kind == "simulated":
            return _given(dataset, backbone, loader=simulated.__name__, settings=dict(source.settings))
        if isinstance(source, ImageSource) and backbone.spec.kind in _BACKBONES:
            return self._extracted(dataset, backbone, source)
        names = f"--dataset {dataset.name} --backbone {backbone.name}"
        raise UserError(
            f"there are no embeddings of {dataset.name} by {backbone.name}",
            remedy=f"import them: dat import embeddings FOLDER {names}",
        )

    def dataset_cells(self, dataset: Dataset) -> dict[str, Cell]:
        """Return the cells that say which samples and which image files a dataset has."""
        source = dataset.spec.source
        assert isinstance(source, ImageSource)
        return {step: self._dataset_cell(step, dataset, source) for step in ("samples", "files")}

    def weights_cell(self, backbone: Backbone) -> Cell:
        """Return the cell that says what a model is: its weights, activation, preprocessing and the like."""
        loader = _BACKBONES[backbone.spec.kind]
        resources: dict[str, Any] = {"device": os.environ.get("DAT_DEVICE", "auto"), "weights": None}
        facts = {"libraries": versions(*_LIBRARIES[backbone.spec.kind], *RUNTIME)}
        if backbone.spec.weights is not None:
            path = (self.specs.path("backbones", backbone.name).parent / backbone.spec.weights).resolve()
            resources["weights"] = str(path)
            facts["weights_sha256"] = self._digest(path)
        return Cell(
            step="weights",
            address={"backbone": backbone.name},
            modules=("tasks.weights", loader),
            params={"loader": loader, "settings": backbone.spec.settings, "dimension": backbone.spec.dimension},
            facts=facts,
            resources=resources,
        )

    def _extracted(self, dataset: Dataset, backbone: Backbone, source: ImageSource) -> dict[str, Cell]:
        """Cells for embeddings that a model makes of images and prompts.

        Embeddings hang on the images, not on what is said of them, so a corrected label embeds nothing again.
        """
        cells, weights = self.dataset_cells(dataset), self.weights_cell(backbone)
        files = cells["files"]
        both = {"dataset": dataset.name, "backbone": backbone.name}
        images = Cell(
            step="image_embeddings",
            address=both,
            modules=("tasks.extraction", *files.modules[1:], *weights.modules[1:]),
            params={"dataset": files.params, "backbone": weights.params, "tolerance": source.tolerance},
            parents={"files": files.name, "weights": weights.name},
            resources={**files.resources, **weights.resources},
        )
        texts = Cell(
            step="text_embeddings",
            address=dataset.text_address(backbone),
            modules=("tasks.text_encoding", *weights.modules[1:]),
            params={"backbone": weights.params, "prompts": dataset.all_prompts},
            parents={"weights": weights.name},
            resources=weights.resources,
        )
        return {**cells, **{cell.step: cell for cell in (weights, images, texts)}}

    def _dataset_cell(self, step: str, dataset: Dataset, source: ImageSource) -> Cell:
        loader = f"dat_lib.datasets.{source.kind}"
        settings: dict[str, Any] = dict(source.settings)
        if source.kind in _OWN_WORDS:
            words = {"classes": dataset.prompts.classes, "attributes": dataset.prompts.attributes}
            settings = {**words, **settings}
        root = self.specs.data / dataset.name
        if source.root is not None:
            root = (self.specs.path("datasets", dataset.name).parent / source.root).resolve()
        facts = {}
        if source.kind == "sample_table":
            facts = {"table_sha256": self._digest(root / str(settings.get("table", "samples.csv")))}
        elif source.kind == "image_folder":
            self.inputs.add(root)
            facts = {"listing": digest_json(sorted(str(file.relative_to(root)) for file in root.rglob("*.*")))}
        return Cell(
            step=step,
            address={"dataset": dataset.name},
            modules=(f"tasks.image_{step}", loader),
            params={"loader": loader, "settings": settings},
            facts=facts,
            resources={"root": str(root)},
        )

    def _digest(self, path: Path) -> str:
        self.inputs.add(path)
        return self._digests.of(path)

    @cached_property
    def _digests(self) -> FileDigests:
        return FileDigests(self.specs.digests)


def _imported(dataset: Dataset, entry: ImportedEmbeddings) -> dict[str, Any]:
    return {
        "loader": embeddings_folder.__name__,
        "settings": {"n_classes": len(dataset.prompts.classes), "n_attributes": len(dataset.prompts.attributes)},
        "facts": {"images_sha256": entry.images_sha256, "texts_sha256": entry.texts_sha256},
        "resources": {"folder": entry.folder},
    }


def _given(
    dataset: Dataset, backbone: Backbone, *, loader: str, settings: dict[str, Any], **more: Any
) -> dict[str, Cell]:
    """Cells for embeddings that exist already or are drawn."""

    both: dict[str, str | int] = {"dataset": dataset.name, "backbone": backbone.name}

    def cell(step: str, address: dict[str, str | int] = both, **params: Any) -> Cell:
        return Cell(
            step=step,
            address=address,
            modules=(f"tasks.{step}", loader),
            params={"loader": loader, "settings": settings, **params},
            **more,
        )

    texts = cell("text_embeddings", dataset.text_address(backbone), prompts=dataset.all_prompts)
    return {made.step: made for made in (cell("samples"), cell("image_embeddings"), texts)}
