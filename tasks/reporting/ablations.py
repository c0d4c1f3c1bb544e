"""Ablations: what becomes of the worst group when a setting, the prompts or the references change."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tasks.reporting.ablation_figures import ablation_figures
from tasks.reporting.document import Column, Figure, Record, Section
from tasks.reporting.figures import ACCENT, QUIET, draw
from tasks.reporting.scope import Scope, literal, slugged

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TABLE = """SELECT dataset, backbone, method, variant, wg, wg_low, wg_high, avg, gap, seeds
FROM leaderboard
WHERE {where}
ORDER BY dataset, backbone, method, variant"""


def ablations_section(scope: Scope) -> Section:
    """Return figures of what was swept, and a table of all variants."""
    variants = [result for result in scope.results if result[3]]
    if not variants:
        remark = "This request sweeps no setting. `dat run SUITE --set k=20` tries another; a suite may list many."
        return Section("ablations", "Ablations", remark=remark)
    columns = (
        Column("dataset", "Dataset"),
        Column("backbone", "Backbone"),
        Column("method", "Method"),
        Column("variant", "Settings"),
        Column("wg", "WG ↑", "percent", "highest", ("wg_low", "wg_high")),
        Column("avg", "Avg ↑", "percent", "highest"),
        Column("gap", "Gap ↓", "percent", "lowest"),
        Column("seeds", "Seeds", "count"),
    )
    table = scope.table(
        "ablations",
        "All variants",
        _TABLE.format(where=scope.where(variants=True)),
        columns,
        caption="Settings that differ from the dataset's own. Best and second best of each method.",
        within=("dataset", "backbone", "method"),
    )
    figures = [*ablation_figures(scope), *_sensitivity(scope)]
    return Section("ablations", "Ablations", tables=[table], figures=figures)


def _sensitivity(scope: Scope) -> Iterator[Figure]:
    """Yield how far the worst group spreads over prompts, random references and seeds of corruption."""
    for dataset, backbone in scope.pairs:
        rows = scope.ask(
            f"SELECT * FROM sensitivity WHERE dataset = {literal(dataset)} AND backbone = {literal(backbone)} "
            "ORDER BY source, wg_median DESC, method"
        )
        if rows:
            yield _spread(dataset, backbone, rows)


def _spread(dataset: str, backbone: str, rows: Sequence[Record]) -> Figure:
    names = [f"{row['method']}, {row['source']} ({row['results']})" for row in rows]

    def paint(axes: "Axes") -> None:
        for place, row in enumerate(rows):
            colour = ACCENT if row["method"].startswith("dat") else QUIET
            axes.plot([row["wg_lowest"], row["wg_highest"]], [place] * 2, color=colour, linewidth=1)
            axes.plot([row["wg_quarter"], row["wg_three_quarters"]], [place] * 2, color=colour, linewidth=5, alpha=0.5)
            axes.plot(row["wg_median"], place, "o", color=colour, markersize=5)
            if row["wg_usual"] is not None:
                axes.plot(row["wg_usual"], place, "o", markerfacecolor="none", markeredgecolor=colour, markersize=8)
        axes.set_yticks(range(len(rows)), names)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("worst group, percent: ● median, ○ usual settings")

    widest = max(rows, key=lambda row: row["wg_highest"] - row["wg_lowest"])
    words = (
        f"Worst-group accuracy over prompts, random references and seeds of corruption, {dataset} × {backbone}: range, "
        f"middle half and median of {len(rows)} sets of results. The widest range is that of {widest['method']} over "
        f"{widest['source']}, from {widest['wg_lowest']:.1f} to {widest['wg_highest']:.1f} %."
    )
    title = f"Sensitivity, {dataset} × {backbone}"
    return draw(slugged("sensitivity", dataset, backbone), title, words, (5.6, 0.9 + 0.24 * len(rows)), paint)
