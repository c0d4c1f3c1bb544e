"""Experiments: the combinations of dataset, backbone, method, settings and seed that a request asks for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from dat_lib.methods.contract import Method, text_role
from dat_lib.methods.registry import make_method, method_names
from data_catalog.errors import UserError
from data_catalog.specs.collection import Specs, unknown
from data_catalog.specs.models import Grid


@dataclass(frozen=True)
class Experiment:
    """One method on one dataset by one backbone. `overrides` differ from the dataset's own settings: a variant."""

    dataset: str
    backbone: str
    method: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def variant(self) -> str:
        """The overrides as text, empty for none."""
        return spelled_out(self.overrides)


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


def select(selection: Selection, specs: Specs) -> tuple[list[Experiment], list[LeftOut]]:
    """Return the experiments asked for, each once, and the methods left out because the prompts lack something.

    A method asked for by name that cannot run is an error; one that stands in only because no method was named is left
    out and reported.
    """
    for name in selection.methods:
        _known_method(name)
    for name in selection.datasets:
        specs.path("datasets", name)
    for name in selection.backbones:
        specs.path("backbones", name)
    if selection.suite is not None:
        experiments = list(_of_suite(selection, specs))
        left_out: list[LeftOut] = []
    else:
        experiments, left_out = _of_names(selection, specs)
    unique = {(e.dataset, e.backbone, e.method, e.variant, e.seed): e for e in experiments}
    return list(unique.values()), left_out


def method_for(experiment: Experiment, settings: Mapping[str, Any]) -> Method:
    """Return the method as it is in this experiment: `settings` are its own on the dataset."""
    _known_method(experiment.method)
    try:
        return make_method(experiment.method, {**settings, **experiment.overrides})
    except ValueError as error:
        raise UserError(str(error), where=f"{experiment.dataset} / {experiment.method}") from error


def missing_text(method: Method, roles: Mapping[str, Any]) -> list[str]:
    """Return the roles of prompts that a method reads and a prompt set does not have."""
    return [role for role in method.needs.in_full().text if text_role(role, roles) is None]


def _of_suite(selection: Selection, specs: Specs) -> Iterator[Experiment]:
    assert selection.suite is not None
    grids = specs.suite(selection.suite).grid
    for kind in ("datasets", "backbones", "methods"):
        offered = sorted({name for grid in grids for name in getattr(grid, kind)})
        for name in getattr(selection, kind):
            if name not in offered:
                remedy = f"it has: {', '.join(offered)}"
                raise UserError(f"suite {selection.suite} has no {kind.removesuffix('s')} {name}", remedy=remedy)
    for grid in grids:
        for experiment in _of_grid(grid, selection.overrides):
            chosen = (experiment.dataset, experiment.backbone, experiment.method)
            wanted = (selection.datasets, selection.backbones, selection.methods)
            if all(not names or name in names for name, names in zip(chosen, wanted, strict=True)):
                yield experiment


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
    for experiment in experiments:
        lacking = _lacking(experiment, specs)
        if lacking:
            left_out[experiment.dataset, experiment.method] = LeftOut(experiment.dataset, experiment.method, lacking)
        else:
            able.append(experiment)
    return able, list(left_out.values())


def _lacking(experiment: Experiment, specs: Specs) -> str:
    prompts = specs.prompt_set(specs.dataset(experiment.dataset).prompts)
    method = method_for(experiment, specs.settings(experiment.method, experiment.dataset))
    roles = missing_text(method, prompts.text_for(experiment.method))
    return f"the prompt set has no {', '.join(roles)}" if roles else ""


def _of_grid(grid: Grid, overrides: Mapping[str, Any]) -> Iterator[Experiment]:
    swept = {name: value if isinstance(value, list) else [value] for name, value in grid.set.items()}
    swept.update({name: [value] for name, value in overrides.items()})
    seeds = [_seed(value) for value in swept.pop("seed", grid.seeds)]
    for dataset, backbone, method in product(grid.datasets, grid.backbones, grid.methods):
        for values in product(*swept.values()):
            for seed in seeds:
                yield Experiment(dataset, backbone, method, dict(zip(swept, values, strict=True)), seed)


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UserError(f"seed = {value!r} is no seed", remedy="give a whole number from 0 on, such as --set seed=1")
    return value


def known_methods() -> list[str]:
    """Return the names of all methods; a `UserError` when somebody's method cannot be registered."""
    try:
        return method_names()
    except ValueError as error:
        raise UserError(str(error), where="methods") from error


def _known_method(name: str) -> None:
    if name not in known_methods():
        raise unknown("method", name, known_methods(), "dat ls methods")


def spelled_out(settings: Mapping[str, Any]) -> str:
    """Return settings as `parse_overrides` reads them, such as `k=20, terms=group`."""
    return ", ".join(f"{name}={_plain(value)}" for name, value in sorted(settings.items()))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse_overrides(pairs: Iterable[str]) -> dict[str, Any]:
    """Read `name=value` pairs as TOML would: numbers, true and false, else text."""
    import tomllib

    overrides: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise UserError(f"--set {pair}: expected name=value", remedy="for example --set k=20")
        try:
            overrides[name.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            overrides[name.strip()] = text.strip()
    return overrides
