"""The cells of the theory: which checks there are, and what each may be told."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from data_catalog.errors import UserError
from data_catalog.planning.cell import Cell
from data_catalog.specs.collection import unknown
from tasks.graph.inspections import TheoryCheck

STEP = "theory_"
"""What the names of the steps begin with; the check's name follows."""


@dataclass(frozen=True)
class _Check:
    """A function of the library, and the columns of its rows that say whether a claim holds."""

    module: str
    function: str
    claims: tuple[str, ...] = ()


CHECKS: Mapping[str, _Check] = {
    "cosine_ties": _Check("dat_lib.theory.cosine_tie", "cosine_ties", ("on_sphere", "holds")),
    "cosine_rankings": _Check("dat_lib.theory.cosine_tie", "cosine_rankings"),
    "fidelity": _Check("dat_lib.theory.fidelity", "log_slof_fidelity", ("increasing",)),
    "fidelity_points": _Check("dat_lib.theory.fidelity", "fidelity_points"),
    "bayes_alignment": _Check("dat_lib.theory.bayes_alignment", "bayes_alignment", ("within_bound", "holds")),
    "anisotropy": _Check("dat_lib.theory.anisotropy", "anisotropy_terms", ("reinstated",)),
    "bayes_approach": _Check("dat_lib.theory.bayes_rule", "bayes_approach"),
    "surrogate_risks": _Check(
        "dat_lib.theory.surrogate_risk",
        "surrogate_risks",
        ("decreased", "assumption_met", "condition_met", "contradicted"),
    ),
}


def theory_cell(asked: TheoryCheck) -> Cell:
    """Return the cell of a check; a `UserError` for one that does not exist, or does not take a setting."""
    if asked.check not in CHECKS:
        raise unknown("check of the theory", asked.check, sorted(CHECKS), "dat ls suites")
    check = CHECKS[asked.check]
    known = inspect.signature(getattr(import_module(check.module), check.function)).parameters
    for name in asked.overrides:
        if name not in known or name == "seed":
            names = ", ".join(sorted(set(known) - {"seed"}))
            raise UserError(f"the check {asked.check} has no setting {name}", remedy=f"it has: {names}")
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in asked.overrides.items()
    }
    return Cell(
        step=f"{STEP}{asked.check}",
        address={"variant": asked.variant, "seed": asked.seed},
        modules=("tasks.steps.theory", check.module),
        params={
            "module": check.module,
            "function": check.function,
            "settings": settings,
            "claims": list(check.claims),
            "seed": asked.seed,
        },
    )
