"""The graph of the pipeline: which cells an experiment needs, and what decides each."""

import dataclasses
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dat_lib.methods.registry import method_module
from dat_lib.methods.support.contract import DensityNeeds, Method, text_role
from data_catalog.errors import UserError
from data_catalog.planning.cell import Cell
from data_catalog.specs.collection import Specs
from data_catalog.store.source_files import Progress
from tasks.graph.comparisons import BASELINES, comparison_cells
from tasks.graph.densities import DensityCells, in_one_go
from tasks.graph.diagnostics import STEP as DIAGNOSTIC
from tasks.graph.diagnostics import diagnostic_cells, kind_at, kind_of, split_settings
from tasks.graph.experiments import Asked, Experiment, method_for
from tasks.graph.inspections import Diagnosis, TheoryCheck
from tasks.graph.memory_needs import check_memory
from tasks.graph.methods import missing_text
from tasks.graph.sources import Backbone, Dataset, Sources
from tasks.graph.theory import STEP as THEORY
from tasks.graph.theory import theory_cell
from tasks.graph.variants import parse_variant

RESAMPLES = 2000
"""Bootstrap resamples behind every interval."""


class Graph:
    """Cells for experiments; specs are read and prompts written out once. `look` and `progress` as for `Sources`."""

    def __init__(self, specs: Specs, *, look: bool = True, progress: Progress = lambda name, done, total: None) -> None:
        self._specs = specs
        self._dataset = cache(specs.dataset)
        self._backbone = cache(specs.backbone)
        self._prompts = cache(specs.prompt_set)
        self._prompts_of = cache(specs.prompts_of)
        self._settings = cache(specs.settings)
        self._text = cache(lambda prompts, method: self._prompts(prompts).text_for(method))
        self._sources = Sources(specs, look, progress)
        self._embedding_cells = cache(self._make_embedding_cells)

    @property
    def inputs(self) -> set[Path]:
        """Files and folders that were read to make the cells, beside specs."""
        return self._sources.inputs

    @property
    def remarks(self) -> list[str]:
        """What a person should know of these files, each once."""
        return list(dict.fromkeys(self._sources.remarks))

    def cells(self, asked: Iterable[Asked]) -> list[Cell]:
        """Return every cell that is needed, each once, inputs first."""
        found: dict[str, Cell] = {}
        for one in asked:
            for cell in self._cells_of(one):
                found.setdefault(cell.name, cell)
        return in_one_go([*found.values(), *comparison_cells(found.values())])

    def cells_at(self, address: Mapping[str, Any], step: str = "") -> list[Cell]:
        """Return the cells of one address, such as an artifact's, and all they need; of inspections by their step."""
        overrides = parse_variant(address["variant"])
        if step.startswith(THEORY):
            return self.cells([TheoryCheck(step.removeprefix(THEORY), overrides, address["seed"])])
        if step.startswith(DIAGNOSTIC):
            prompts, method = str(overrides.pop("prompts", "")), address["method"] or "dat"
            where = (address["dataset"], address["backbone"], kind_at(step), method)
            return self.cells([Diagnosis(*where, overrides, address["seed"], prompts)])
        if not address["backbone"]:
            return list(self._sources.dataset_cells(self._dataset_of(address["dataset"])).values())
        if not address["dataset"]:
            return [self._sources.weights_cell(Backbone(address["backbone"], self._backbone(address["backbone"])))]
        if not address["method"]:
            return self._cells_without_method(address["dataset"], address["backbone"], overrides, address["seed"])
        prompts = str(overrides.pop("prompts", ""))
        names = (address["dataset"], address["backbone"], address["method"])
        own = Experiment(*names, overrides, address["seed"], prompts)
        plain = dataclasses.replace(own, overrides={}, prompts="")
        beside = [dataclasses.replace(plain, method=name) for name in BASELINES if name != own.method]
        return self.cells([own, *filter(self._can_run, beside)])

    def _cells_of(self, asked: Asked) -> list[Cell]:
        if isinstance(asked, TheoryCheck):
            return [theory_cell(asked)]
        return self._diagnosis(asked) if isinstance(asked, Diagnosis) else self._experiment(asked)

    def _experiment(self, experiment: Experiment) -> list[Cell]:
        embeddings = self._embedding_cells(experiment.dataset, experiment.backbone, experiment.prompts)
        roles = ("samples", "image_embeddings", "text_embeddings", "weights")
        method = self._method(experiment)
        parents = {role: embeddings[role] for role in roles if role in embeddings}
        densities: dict[str, Cell] = {}
        if method.needs.densities is not None:
            densities = self._density_cells(experiment, method.needs.densities)
            parents |= {role: cell for role, cell in densities.items() if role != "herded"}
        predictions = self._predictions(experiment, method, {role: cell.name for role, cell in parents.items()})
        metrics = self._metrics(experiment, embeddings["samples"], predictions)
        return [*embeddings.values(), *densities.values(), predictions, metrics]

    def _diagnosis(self, asked: Diagnosis) -> list[Cell]:
        kind, (settings, overrides) = kind_of(asked), split_settings(asked)
        of = asked.method if kind.of_method else ""
        experiment = Experiment(asked.dataset, asked.backbone, of, overrides, asked.seed, asked.prompts)
        embeddings = self._embedding_cells(asked.dataset, asked.backbone, asked.prompts)
        needed = ["samples", "image_embeddings", *(["text_embeddings"] if kind.text else [])]
        method, densities, seed = None, dict[str, Cell](), asked.seed if kind.seeded else 0
        if kind.of_method:
            method = self._method(experiment)
            wanted = method.needs.densities
            if wanted is None or not hasattr(method, "strength"):
                raise UserError(f"the diagnostic {asked.kind} is of methods with densities, not of {asked.method}")
            densities = self._density_cells(experiment, wanted)
            seed = asked.seed if wanted.random else 0
            needed += ["weights"] if "weights" in embeddings and asked.kind == "margins" else []
        parents = {role: embeddings[role].name for role in needed}
        parents |= {role: densities[role].name for role in kind.of_method if role in densities}
        cells = diagnostic_cells(asked, parents, self._diagnostic_params(experiment, settings, kind.text), method, seed)
        return [*embeddings.values(), *densities.values(), *cells]

    def _diagnostic_params(
        self, experiment: Experiment, settings: Mapping[str, Any], roles: Iterable[str]
    ) -> dict[str, Any]:
        """Return what decides a diagnosis, with what the dataset says where the diagnostic's settings leave it open."""
        dataset, text = self._dataset(experiment.dataset), self._text_of(experiment)
        prompts = self._prompts(dataset.prompts)
        params = {
            **settings,
            "classes": prompts.classes,
            "attributes": prompts.attributes,
            "text": {role: text[role] for role in roles if role in text},
            "split": settings.get("split") or dataset.reference_split,
            "seed": experiment.seed,
        }
        if params.get("size") == 0:
            usual = self._method(Experiment(experiment.dataset, experiment.backbone, "dat")).needs.densities
            assert usual is not None
            params["size"] = usual.n
        if "bins" in settings:
            params["logit_scale"] = self._backbone(experiment.backbone).logit_scale
        return params

    def _cells_without_method(self, dataset: str, backbone: str, settings: Mapping[str, Any], seed: int) -> list[Cell]:
        """Return the cells of embeddings, and of attributes, references and densities with these settings."""
        settings = dict(settings)
        prompts, method = (str(settings.pop(name, "")) for name in ("prompts", "words"))
        asked = Experiment(dataset, backbone, method, seed=seed, prompts=prompts)
        found = dict(self._embedding_cells(dataset, backbone, prompts))
        if "attribute" in self._text_of(asked):
            inferred = DensityNeeds(n=1, k=0, groups="inferred")
            found["attributes"] = self._density_cells(asked, inferred)["attributes"]
        if settings:
            found |= self._density_cells(asked, DensityNeeds(**{"k": 0, **settings}))
        return list(found.values())

    def _density_cells(self, asked: Experiment, wanted: DensityNeeds) -> dict[str, Cell]:
        spec = self._dataset(asked.dataset)
        prompts = self._prompts(spec.prompts)
        own, common = (self._text_of(who).get("attribute") for who in (asked, dataclasses.replace(asked, method="")))
        cells = DensityCells(
            self._embedding_cells(asked.dataset, asked.backbone, asked.prompts),
            {"dataset": asked.dataset, "backbone": asked.backbone},
            spec.reference_split,
            len(prompts.classes),
            len(prompts.attributes),
        )
        told = {"prompts": asked.prompts, "words": asked.method if own != common else ""}
        return cells.cells(wanted, asked.seed, own, {name: value for name, value in told.items() if value})

    def _method(self, experiment: Experiment) -> Method:
        """Return the method of an experiment; an error where the prompts do not serve it."""
        method = method_for(experiment, self._settings(experiment.method, experiment.dataset))
        lacking = missing_text(method, self._text_of(experiment))
        if lacking:
            prompts = self._specs.prompts_of(experiment.dataset, experiment.prompts)
            raise UserError(
                f"{experiment.method} needs prompts of the role {', '.join(lacking)}, which the set has not",
                where=str(self._specs.path("prompts", prompts)),
                remedy=f"add them under [prompts] or [prompts.{experiment.method}]",
            )
        return method

    def _can_run(self, experiment: Experiment) -> bool:
        method = method_for(experiment, self._settings(experiment.method, experiment.dataset))
        return not missing_text(method, self._text_of(experiment))

    def _text_of(self, experiment: Experiment) -> dict[str, Any]:
        """Return the prompts by role as the method of an experiment reads them."""
        text: dict[str, Any] = self._text(self._prompts_of(experiment.dataset, experiment.prompts), experiment.method)
        return text

    def _make_embedding_cells(self, dataset: str, backbone: str, prompts: str = "") -> dict[str, Cell]:
        model, found = Backbone(backbone, self._backbone(backbone)), self._dataset_of(dataset, prompts)
        where = str(self._specs.path("prompts", found.spec.prompts))
        check_memory(found.prompts, found.spec.groups, where=where, dimension=model.spec.dimension)
        return self._sources.embedding_cells(found, model)

    def _dataset_of(self, name: str, chosen: str = "") -> Dataset:
        spec = self._dataset(name)
        own, other = self._prompts(spec.prompts), self._prompts(self._prompts_of(name, chosen))
        for words in ("classes", "attributes"):
            if len(getattr(own, words)) != len(getattr(other, words)):
                raise UserError(
                    f"has {len(getattr(other, words))} {words} where {name} has {len(getattr(own, words))}",
                    where=str(self._specs.path("prompts", self._prompts_of(name, chosen))),
                )
        return Dataset(name, spec, own, chosen, other)

    def _predictions(self, experiment: Experiment, method: Method, parents: dict[str, str]) -> Cell:
        dataset = self._dataset(experiment.dataset)
        prompts = self._prompts(dataset.prompts)
        roles = self._text_of(experiment)
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
            modules=("tasks.steps.predictions", method_module(experiment.method)),
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
            modules=("tasks.steps.metrics",),
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
