"""Methods that cannot do on a dataset what their name says: neither results nor failures."""

from typing import Any

from tasks.reporting.document import Column, Section, Table
from tasks.reporting.scope import Scope

_NOT_APPLICABLE = """SELECT dataset, backbone, method, variant, seed, reason
FROM not_applicable
WHERE {where}
ORDER BY ALL"""
_PLACE = ("dataset", "backbone", "method", "variant", "seed")


def not_applicable_section(scope: Scope) -> Section | None:
    """Return which methods cannot do on a dataset what their name says, and why; None where all can."""
    table = _not_applicable(scope)
    return Section("not-applicable", "Not applicable", tables=[table]) if table.records else None


def _not_applicable(scope: Scope) -> Table:
    return scope.table(
        "not-applicable",
        "Methods that a dataset cannot serve",
        _NOT_APPLICABLE.format(where=scope.where()),
        (
            Column("dataset", "Dataset"),
            Column("backbone", "Backbone"),
            Column("method", "Method"),
            Column("variant", "Settings"),
            Column("seed", "Seed", "count"),
            Column("reason", "Reason"),
        ),
        caption="They are not ranked, for they could not do what their name says, and they did not fail.",
    )


def places_not_applicable(scope: Scope) -> set[tuple[Any, ...]]:
    """Return (dataset, backbone, method, variant, seed) of those among the results asked for."""
    return {tuple(row[name] for name in _PLACE) for row in _not_applicable(scope).records}
