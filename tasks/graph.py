"""The graph of the pipeline: which cells an experiment needs, and what decides each."""

import dataclasses
import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dat_lib.datasets import embeddings_folder, simulated
from dat_lib.methods.contract import text_role
from dat_lib.methods.registry import method_module
from data_catalog.cell import Cell
from data_catalog.errors import UserError
from data_catalog.specs.collection import Specs
from data_catalog.specs.models import BackboneSpec, DatasetSpec
from data_catalog.specs.prompts import PromptSet
from tasks.experiments import Experiment, method_for, missing_text, parse_overrides

RESAMPLES = 2000
"""Bootstrap resamples behind every interval."""


class Graph:
    """Cells for experiments; specs are read and prompts written out once."""

    def __init__(self, specs: Specs) -> None:
        self._specs = specs
        self._dataset = cache(specs.dataset)
        self._backbone = cache(specs.backbone)
        self._prompts = cache(specs.prompt_set)
        self._settings = cache(specs.settings)
        self._text = cache(lambda prompts, method: self._prompts(prompts).text_for(method))
        self._embedding_cells = cache(self._make_embedding_cells)

    def cells(self, experiments: Iterable[Experiment]) -> list[Cell]:
        """Return every cell the experiments need, each once, inputs first."""
        found: dict[str, Cell] = {}
        for experiment in experiments:
            for cell in self._cells_of(experiment):
                found.setdefault(cell.name, cell)
        return list(found.values())

    def cells_at(self, address: Mapping[str, Any]) -> list[Cell]:
        """Return the cells of one address, such as an artifact's, and all they need."""
        if not address["method"]:
            return list(self._embedding_cells(address["dataset"], address["backbone"]))
        overrides = parse_overrides(filter(None, address["variant"].split(", ")))
        names = (address["dataset"], address["backbone"], address["method"])
        return self.cells([Experiment(*names, overrides, address["seed"])])

    def _cells_of(self, experiment: Experiment) -> list[Cell]:
        embeddings = self._embedding_cells(experiment.dataset, experiment.backbone)
        predictions = self._predictions(experiment, {cell.step: cell.name for cell in embeddings})
        return [*embeddings, predictions, self._metrics(experiment, embeddings[0], predictions)]

    def _make_embedding_cells(self, dataset_name: str, backbone_name: str) -> tuple[Cell, ...]:
        dataset, backbone = self._dataset(dataset_name), self._backbone(backbone_name)
        return embedding_cells(dataset_name, dataset, backbone_name, backbone, self._prompts(dataset.prompts))

    def _predictions(self, experiment: Experiment, parents: dict[str, str]) -> Cell:
        method = method_for(experiment, self._settings(experiment.method, experiment.dataset))
        dataset, backbone = self._dataset(experiment.dataset), self._backbone(experiment.backbone)
        prompts = self._prompts(dataset.prompts)
        roles = self._text(dataset.prompts, experiment.method)
        lacking = missing_text(method, roles)
        if lacking:
            raise UserError(
                f"{experiment.method} needs prompts of the role {', '.join(lacking)}, which the set has not",
                where=str(self._specs.path("prompts", dataset.prompts)),
                remedy=f"add them under [prompts] or [prompts.{experiment.method}]",
            )
        used = {role for name in method.needs.text if (role := text_role(name, roles))}
        params = {
            "method": experiment.method,
            "settings": dataclasses.asdict(method),  # type: ignore[call-overload]
            "text": {role: roles[role] for role in sorted(used)},
            "n_classes": len(prompts.classes),
            "n_attributes": len(prompts.attributes),
            "logit_scale": backbone.logit_scale,
            "seed": experiment.seed,
        }
        if method.needs.pool:
            params["pool_split"] = dataset.reference_split if method.needs.pool_split == "reference" else "train"
        return Cell(
            step="predictions",
            address=_address(experiment),
            modules=("tasks.predictions", method_module(experiment.method)),
            params=params,
            parents=parents,
            resources={"device": os.environ.get("DAT_DEVICE", "cpu")},
        )

    def _metrics(self, experiment: Experiment, samples: Cell, predictions: Cell) -> Cell:
        dataset = self._dataset(experiment.dataset)
        prompts = self._prompts(dataset.prompts)
        return Cell(
            step="metrics",
            address=_address(experiment),
            modules=("tasks.metrics",),
            params={
                "groups": dataset.groups,
                "classes": prompts.classes,
                "attributes": prompts.attributes,
                "resamples": RESAMPLES,
                "seed": experiment.seed,
            },
            parents={"predictions": predictions.name, "samples": samples.name},
        )


def embedding_cells(
    dataset_name: str, dataset: DatasetSpec, backbone_name: str, backbone: BackboneSpec, prompts: PromptSet
) -> tuple[Cell, ...]:
    """Return the cells that hold a dataset's samples, their embeddings and those of its prompts, in this order."""
    source = _source(dataset_name, dataset, backbone_name, backbone, prompts)

    def cell(step: str, **more: Any) -> Cell:
        return Cell(
            step=step,
            address={"dataset": dataset_name, "backbone": backbone_name},
            modules=(f"tasks.{step}", source["loader"]),
            params={"loader": source["loader"], "settings": source["settings"], **more},
            facts=source["facts"],
            resources=source["resources"],
        )

    return (cell("samples"), cell("image_embeddings"), cell("text_embeddings", prompts=prompts.all_prompts()))


def _address(experiment: Experiment) -> dict[str, str | int]:
    return {
        "dataset": experiment.dataset,
        "backbone": experiment.backbone,
        "method": experiment.method,
        "variant": experiment.variant,
        "seed": experiment.seed,
    }


def _source(
    dataset_name: str, dataset: DatasetSpec, backbone_name: str, backbone: BackboneSpec, prompts: PromptSet
) -> dict[str, Any]:
    """Return where embeddings of a dataset by a backbone come from."""
    imported = dataset.embeddings.get(backbone_name)
    if imported is not None:
        return {
            "loader": embeddings_folder.__name__,
            "settings": {"n_classes": len(prompts.classes), "n_attributes": len(prompts.attributes)},
            "facts": {"images_sha256": imported.images_sha256, "texts_sha256": imported.texts_sha256},
            "resources": {"folder": imported.folder},
        }
    if dataset.source is not None and backbone.kind == "simulated":
        return {
            "loader": simulated.__name__,
            "settings": dict(dataset.source.settings),
            "facts": {},
            "resources": {},
        }
    raise UserError(
        f"there are no embeddings of {dataset_name} by {backbone_name}",
        remedy=f"import them: dat import embeddings FOLDER --dataset {dataset_name} --backbone {backbone_name}",
    )
