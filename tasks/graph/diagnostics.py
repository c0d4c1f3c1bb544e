"""The cells of diagnostics: which kinds there are, what tables each makes in one go, and what decides them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from dat_lib.methods.support.contract import Method
from data_catalog.errors import UserError
from data_catalog.planning.cell import Cell
from data_catalog.specs.collection import unknown
from tasks.graph.inspections import Diagnosis

STEP = "diagnostic_"
"""What the names of the steps begin with; the table's name follows."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of diagnostic: its tables, its own settings, and the inputs it reads beside samples and embeddings."""

    tables: tuple[str, ...]
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    of_method: tuple[str, ...] = ()
    """Roles of cells that a method's densities are made of; without any, it is about no method."""
    text: tuple[str, ...] = ("class", "attribute", "group")
    seeded: bool = False

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps, which are those of the tables."""
        return tuple(f"{STEP}{table}" for table in self.tables)


KINDS: Mapping[str, Kind] = {
    "prompt_distances": Kind(
        ("prompt_distances",),
        {"split": "", "size": 0, "repeats": 5, "shrinkage": "ledoit_wolf"},
        seeded=True,
    ),
    "shell": Kind(("shell_samples", "shell_spectrum", "shell_summary"), {"split": "test"}),
    "triptych": Kind(
        ("triptych", "triptych_summary"), {"groups": 4}, of_method=("densities",), text=("class", "group")
    ),
    "margins": Kind(("margins", "margin_histograms"), {"bins": 40}, of_method=("densities",), text=("class", "group")),
    "exemplars": Kind(("exemplars",), of_method=("references", "attributes"), text=()),
}


def kind_of(asked: Diagnosis) -> Kind:
    """Return the kind of a diagnosis; a `UserError` for one that does not exist."""
    if asked.kind not in KINDS:
        raise unknown("diagnostic", asked.kind, sorted(KINDS), "dat ls suites")
    return KINDS[asked.kind]


def kind_at(step: str) -> str:
    """Return the kind that makes the table of a step."""
    return next(name for name, kind in KINDS.items() if step in kind.steps)


def split_settings(asked: Diagnosis) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the diagnostic's own settings, and those that are the method's."""
    kind = kind_of(asked)
    own = {**kind.settings, **{name: value for name, value in asked.overrides.items() if name in kind.settings}}
    others = {name: value for name, value in asked.overrides.items() if name not in kind.settings}
    if others and not kind.of_method:
        names = ", ".join(sorted(kind.settings))
        raise UserError(f"the diagnostic {asked.kind} has no setting {', '.join(others)}", remedy=f"it has: {names}")
    return own, others


def diagnostic_cells(
    asked: Diagnosis, parents: Mapping[str, str], params: Mapping[str, Any], method: Method | None, seed: int
) -> list[Cell]:
    """Return the cells of a diagnosis, one a table, each with the others it is made with."""
    kind = kind_of(asked)
    address: dict[str, str | int] = {"dataset": asked.dataset, "backbone": asked.backbone}
    if method is not None:
        address["method"] = asked.method
        params = {**params, "method": asked.method, "settings": dataclasses.asdict(method)}  # type: ignore[call-overload]
    cells = [
        Cell(
            step=step,
            address={**address, "variant": asked.variant, "seed": seed},
            modules=(f"tasks.steps.diagnostics.{asked.kind}",),
            params={**params, "table": step},
            parents=parents,
        )
        for step in kind.steps
    ]
    return [dataclasses.replace(cell, together=tuple(other for other in cells if other is not cell)) for cell in cells]
