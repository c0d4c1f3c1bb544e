"""Experiments: the combinations of dataset, backbone, method, settings and seed that a request asks for.

A suite may ask for inspections beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, TypeAlias

from dat_lib.methods.support.contract import Method
from data_catalog.errors import UserError
from data_catalog.specs.collection import Specs
from data_catalog.specs.models import Grid, SuiteSpec
from data_catalog.specs.prompts import PromptSet
from tasks.graph.inspections import Diagnosis, TheoryCheck, diagnoses, theory_checks
from tasks.graph.memory_needs import check_memory
from tasks.graph.methods import check_method, known_methods, method_with, missing_text
from tasks.graph.suite_names import SuiteNames, Table
from tasks.graph.variants import parse_overrides as parse_overrides
from tasks.graph.variants import spelled_out


@dataclass(frozen=True)
class Experiment:
    """One method on one dataset by one backbone.

    `overrides` differ from the dataset's own settings, and `prompts` is a prompt set in place of its own: a variant.
    """

    dataset: str
    backbone: str
    method: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    prompts: str = ""

    @property
    def variant(self) -> str:
        """The overrides as text, empty for none."""
        return spelled_out({**self.overrides, **({"prompts": self.prompts} if self.prompts else {})})

    @property
    def place(self) -> tuple[Any, ...]:
        """What sets it apart from all others."""
        return ("experiment", self.dataset, self.backbone, self.method, self.variant, self.seed)


Asked: TypeAlias = Experiment | Diagnosis | TheoryCheck


@dataclass(frozen=True)
class Selection:
    """What a person asks for: a suite, or names, or a suite narrowed by names."""

    suite: str | None = None
    datasets: Sequence[str] = ()
    backbones: Sequence[str] = ()
    methods: Sequence[str] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        """Return the request in a few words."""
        names = [self.suite or "", *self.datasets, *self.backbones, *self.methods]
        return " ".join([*filter(None, names), *(f"{name}={value}" for name, value in self.overrides.items())])


@dataclass(frozen=True)
class LeftOut:
    """A method that was not asked for by name and cannot run here, and why."""

    dataset: str
    method: str
    why: str


def select(selection: Selection, specs: Specs) -> tuple[list[Asked], list[LeftOut]]:
    """Return what is asked for, each once, and the methods left out because the prompts lack something.

    A method asked for by name that cannot run is an error; one that stands in only because no method was named is left
    out and reported.
    """
    for name in selection.methods:
        check_method(name)
    for name in selection.datasets:
        specs.path("datasets", name)
    for name in selection.backbones:
        specs.path("backbones", name)
    if selection.suite is not None:
        asked = list(_of_suite(selection, specs))
        left_out: list[LeftOut] = []
    else:
        experiments, left_out = _of_names(selection, specs)
        asked = [*experiments]
    return list({one.place: one for one in asked}.values()), left_out


def method_for(experiment: Experiment, settings: Mapping[str, Any]) -> Method:
    """Return the method as it is in this experiment: `settings` are its own on the dataset."""
    where = f"{experiment.dataset} / {experiment.method}"
    return method_with(experiment.method, {**settings, **experiment.overrides}, where)


def _of_suite(selection: Selection, specs: Specs) -> Iterator[Asked]:
    """Yield what a suite lists, as far as the selection names it.

    Settings given beside a suite are those of methods: where it has experiments, these are meant and nothing else.
    """
    assert selection.suite is not None
    names = SuiteNames(selection.suite, specs)
    suite = names.suite
    for kind in ("datasets", "backbones", "methods"):
        offered = sorted({name for part in (*suite.grid, *suite.diagnostics) for name in getattr(part, kind)})
        for name in getattr(selection, kind):
            if name not in offered:
                remedy = f"it has: {', '.join(offered)}"
                raise UserError(f"suite {selection.suite} has no {kind.removesuffix('s')} {name}", remedy=remedy)
    for table, asked in _listed(suite, selection.overrides):
        if _is_wanted(asked, selection):
            names.check(table, asked, selection.overrides)
            yield asked


def _is_wanted(asked: Asked, selection: Selection) -> bool:
    wanted = (selection.datasets, selection.backbones, selection.methods)
    if isinstance(asked, TheoryCheck):
        return not any(wanted)
    chosen = (asked.dataset, asked.backbone, asked.method)
    return all(not names or name in names for name, names in zip(chosen, wanted, strict=True))


def _listed(suite: SuiteSpec, overrides: Mapping[str, Any]) -> Iterator[tuple[Table, Asked]]:
    for position, grid in enumerate(suite.grid):
        for experiment in _of_grid(grid, overrides):
            yield ("grid", position), experiment
    if overrides and suite.grid:
        return
    for position, diagnostics in enumerate(suite.diagnostics):
        for diagnosis in diagnoses(diagnostics):
            yield ("diagnostics", position), replace(diagnosis, overrides={**diagnosis.overrides, **overrides})
    for position, theory in enumerate(suite.theory):
        for check in theory_checks(theory):
            yield ("theory", position), replace(check, overrides={**check.overrides, **overrides})


def _of_names(selection: Selection, specs: Specs) -> tuple[list[Experiment], list[LeftOut]]:
    if not selection.datasets or not selection.backbones:
        raise UserError(
            "what shall be computed?",
            remedy="name a suite (`dat ls suites`), or give --dataset and --backbone",
        )
    methods = list(selection.methods) or known_methods()
    grid = Grid(datasets=list(selection.datasets), backbones=list(selection.backbones), methods=methods)
    experiments = list(_of_grid(grid, selection.overrides))
    if selection.methods:
        return experiments, []
    able, left_out = [], {}
    prompt_set = cache(specs.prompt_set)
    for experiment in experiments:
        lacking = _lacking(experiment, specs, prompt_set(specs.prompts_of(experiment.dataset, experiment.prompts)))
        if lacking:
            left_out[experiment.dataset, experiment.method] = LeftOut(experiment.dataset, experiment.method, lacking)
        else:
            able.append(experiment)
    return able, list(left_out.values())


def _lacking(experiment: Experiment, specs: Specs, prompts: PromptSet) -> str:
    dataset = specs.dataset(experiment.dataset)
    check_memory(prompts, dataset.groups, where=str(specs.path("prompts", dataset.prompts)))
    method = method_for(experiment, specs.settings(experiment.method, experiment.dataset))
    roles = missing_text(method, prompts.text_for(experiment.method))
    return f"the prompt set has no {', '.join(roles)}" if roles else ""


def _of_grid(grid: Grid, overrides: Mapping[str, Any]) -> Iterator[Experiment]:
    swept = {name: value if isinstance(value, list) else [value] for name, value in grid.set.items()}
    swept.update({name: [value] for name, value in overrides.items()})
    seeds = [_seed(value) for value in swept.pop("seed", grid.seeds)]
    prompts = [str(name) for name in swept.pop("prompts", grid.prompts or [""])]
    for dataset, backbone, method in product(grid.datasets, grid.backbones, grid.methods):
        for chosen, values, seed in product(prompts, product(*swept.values()), seeds):
            yield Experiment(dataset, backbone, method, dict(zip(swept, values, strict=True)), seed, chosen)


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UserError(f"seed = {value!r} is no seed", remedy="give a whole number from 0 on, such as --set seed=1")
    return value
