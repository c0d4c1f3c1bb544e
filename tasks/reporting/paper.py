"""Our numbers beside the paper's."""

from tasks.reporting.document import Column, Figure, Section
from tasks.reporting.figures import draw_agreement
from tasks.reporting.scope import Scope

_SQL = """SELECT source, dataset, backbone, method, variant, wg, wg_low, wg_high, paper_wg, wg_difference,
    wg_in_interval, avg, paper_avg, avg_difference, comparable, why
FROM vs_paper
WHERE {where}
ORDER BY source, dataset, backbone, method, variant, seed"""


def paper_section(scope: Scope) -> Section:
    """Return the comparison, drawn and as a table."""
    columns = (
        Column("source", "Source"),
        Column("dataset", "Dataset"),
        Column("backbone", "Backbone"),
        Column("method", "Method"),
        Column("variant", "Settings"),
        Column("wg", "WG, ours", "percent", interval=("wg_low", "wg_high")),
        Column("paper_wg", "WG, paper", "percent"),
        Column("wg_difference", "Difference", "points"),
        Column("avg", "Avg, ours", "percent"),
        Column("paper_avg", "Avg, paper", "percent"),
        Column("avg_difference", "Difference", "points"),
        Column("comparable", "Comparable", "yes", hint="Whether the paper's number rests on what its row claims"),
        Column("why", "Why they differ"),
    )
    caption = "Ours minus the paper's, in points. Known misprints and other checkpoints, splits or averages are named."
    table = scope.table("paper", "Ours and the paper's", _SQL.format(where=scope.where()), columns, caption=caption)
    if not table.records:
        remark = (
            "The paper has no number for these datasets, backbones and methods. `dat run paper` computes those it has."
        )
        return Section("paper", "The paper beside us", remark=remark)
    inside = sum(bool(row["wg_in_interval"]) for row in table.records)
    known = [row for row in table.records if row["paper_wg"] is not None]
    text = [f"{inside} of the paper's {len(known)} worst-group accuracies lie in our 95 % interval."]
    figures: list[Figure] = [draw_agreement(known)] if known else []
    return Section("paper", "The paper beside us", text, [table], figures)
