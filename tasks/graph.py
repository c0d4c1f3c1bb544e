"""The graph of the pipeline: which cells an experiment needs, and what decides each."""

import dataclasses
import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dat_lib.methods.contract import DensityNeeds, Method, text_role
from dat_lib.methods.registry import method_module
from data_catalog.cell import Cell
from data_catalog.errors import UserError
from data_catalog.specs.collection import Specs
from tasks.comparison_cells import BASELINES, comparison_cells
from tasks.density_cells import DensityCells, in_one_go
from tasks.experiments import Experiment, method_for, missing_text, parse_overrides
from tasks.sources import Backbone, Dataset, Sources

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
        self._sources = Sources(specs)
        self._embedding_cells = cache(self._make_embedding_cells)

    def cells(self, experiments: Iterable[Experiment]) -> list[Cell]:
        """Return every cell the experiments need, each once, inputs first."""
        found: dict[str, Cell] = {}
        for experiment in experiments:
            for cell in self._cells_of(experiment):
                found.setdefault(cell.name, cell)
        return in_one_go([*found.values(), *comparison_cells(found.values())])

    def cells_at(self, address: Mapping[str, Any]) -> list[Cell]:
        """Return the cells of one address, such as an artifact's, and all they need."""
        if not address["backbone"]:
            return list(self._sources.dataset_cells(self._dataset_of(address["dataset"])).values())
        if not address["dataset"]:
            return [self._sources.weights_cell(Backbone(address["backbone"], self._backbone(address["backbone"])))]
        overrides = parse_overrides(filter(None, address["variant"].split(", ")))
        if not address["method"]:
            return self._cells_without_method(address["dataset"], address["backbone"], overrides, address["seed"])
        own = Experiment(address["dataset"], address["backbone"], address["method"], overrides, address["seed"])
        beside = [dataclasses.replace(own, method=name, overrides={}) for name in BASELINES if name != own.method]
        return self.cells([own, *filter(self._can_run, beside)])

    def _cells_of(self, experiment: Experiment) -> list[Cell]:
        embeddings = self._embedding_cells(experiment.dataset, experiment.backbone)
        roles = ("samples", "image_embeddings", "text_embeddings", "weights")
        method = self._method(experiment)
        parents = {role: embeddings[role] for role in roles if role in embeddings}
        densities: dict[str, Cell] = {}
        if method.needs.densities is not None:
            names = (experiment.dataset, experiment.backbone, experiment.method)
            densities = self._density_cells(*names, method.needs.densities, experiment.seed)
            parents |= {role: cell for role, cell in densities.items() if role != "herded"}
        predictions = self._predictions(experiment, method, {role: cell.name for role, cell in parents.items()})
        metrics = self._metrics(experiment, embeddings["samples"], predictions)
        return [*embeddings.values(), *densities.values(), predictions, metrics]

    def _cells_without_method(self, dataset: str, backbone: str, settings: Mapping[str, Any], seed: int) -> list[Cell]:
        """Return the cells of embeddings, and of attributes, references and densities with these settings."""
        found = dict(self._embedding_cells(dataset, backbone))
        method = str(settings.get("prompts", ""))
        settings = {name: value for name, value in settings.items() if name != "prompts"}
        if "attribute" in self._text(self._dataset(dataset).prompts, method):
            inferred = DensityNeeds(n=1, k=0, groups="inferred")
            found["attributes"] = self._density_cells(dataset, backbone, method, inferred, seed)["attributes"]
        if settings:
            wanted = DensityNeeds(**{"k": 0, **settings})
            found |= self._density_cells(dataset, backbone, method, wanted, seed)
        return list(found.values())

    def _density_cells(
        self, dataset: str, backbone: str, method: str, wanted: DensityNeeds, seed: int
    ) -> dict[str, Cell]:
        spec = self._dataset(dataset)
        prompts = self._prompts(spec.prompts)
        own, common = self._text(spec.prompts, method).get("attribute"), self._text(spec.prompts, "").get("attribute")
        cells = DensityCells(
            self._embedding_cells(dataset, backbone),
            {"dataset": dataset, "backbone": backbone},
            spec.reference_split,
            len(prompts.classes),
            len(prompts.attributes),
        )
        return cells.cells(wanted, seed, own, method if wanted.groups == "inferred" and own != common else "")

    def _method(self, experiment: Experiment) -> Method:
        """Return the method of an experiment; an error where the prompts do not serve it."""
        method = method_for(experiment, self._settings(experiment.method, experiment.dataset))
        prompts = self._dataset(experiment.dataset).prompts
        lacking = missing_text(method, self._text(prompts, experiment.method))
        if lacking:
            raise UserError(
                f"{experiment.method} needs prompts of the role {', '.join(lacking)}, which the set has not",
                where=str(self._specs.path("prompts", prompts)),
                remedy=f"add them under [prompts] or [prompts.{experiment.method}]",
            )
        return method

    def _can_run(self, experiment: Experiment) -> bool:
        method = method_for(experiment, self._settings(experiment.method, experiment.dataset))
        return not missing_text(method, self._text(self._dataset(experiment.dataset).prompts, experiment.method))

    def _make_embedding_cells(self, dataset: str, backbone: str) -> dict[str, Cell]:
        model = Backbone(backbone, self._backbone(backbone))
        return self._sources.embedding_cells(self._dataset_of(dataset), model)

    def _dataset_of(self, name: str) -> Dataset:
        spec = self._dataset(name)
        return Dataset(name, spec, self._prompts(spec.prompts))

    def _predictions(self, experiment: Experiment, method: Method, parents: dict[str, str]) -> Cell:
        dataset = self._dataset(experiment.dataset)
        prompts = self._prompts(dataset.prompts)
        roles = self._text(dataset.prompts, experiment.method)
        used = {role for name in method.needs.text if (role := text_role(name, roles))}
        params = {
            "method": experiment.method,
            "settings": dataclasses.asdict(method),  # type: ignore[call-overload]
            "text": {role: roles[role] for role in sorted(used)},
            "n_classes": len(prompts.classes),
            "n_attributes": len(prompts.attributes),
            "seed": experiment.seed,
        }
        if "weights" not in parents:
            params["logit_scale"] = self._backbone(experiment.backbone).logit_scale
        if method.needs.in_full().pool:
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


def _address(experiment: Experiment) -> dict[str, str | int]:
    return {
        "dataset": experiment.dataset,
        "backbone": experiment.backbone,
        "method": experiment.method,
        "variant": experiment.variant,
        "seed": experiment.seed,
    }
