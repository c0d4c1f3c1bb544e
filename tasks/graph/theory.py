"""The cells of the theory: which checks there are, and what each may be told."""

import inspect
from typing import Any

from dat_lib.theory.registry import checks
from data_catalog.errors import UserError
from data_catalog.planning.cell import Cell
from data_catalog.specs.collection import unknown
from tasks.graph.inspections import TheoryCheck

STEP = "theory_"
"""What the names of the steps begin with; the check's name follows."""


def theory_cell(asked: TheoryCheck) -> Cell:
    """Return the cell of a check; a `UserError` for one that does not exist, or does not take a setting."""
    check = checks().get(asked.check)
    if check is None:
        raise unknown("check of the theory", asked.check, sorted(checks()), "dat ls suites")
    known = inspect.signature(check.function).parameters
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
        modules=("tasks.steps.theory", check.function.__module__),
        params={"check": check.name, "settings": settings, "seed": asked.seed},
    )
