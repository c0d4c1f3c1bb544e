"""Sweeps: how the worst group moves with a setting, beside the paper's figures where they show the same."""

import json
from collections.abc import Iterator, Sequence

from tasks.reporting.document import Column, Figure, Record, Section
from tasks.reporting.figures import Curve, draw_curves
from tasks.reporting.scope import Scope, literal, slugged

_TABLE = """SELECT dataset, backbone, method, variant, wg, wg_low, wg_high, avg, gap, seeds
FROM leaderboard
WHERE {where}
ORDER BY dataset, backbone, method, variant"""

_SETTINGS = """SELECT l.dataset, l.backbone, l.method, l.variant, l.wg, l.wg_low, l.wg_high,
    any_value(a.params -> 'settings') AS settings
FROM leaderboard l JOIN artifacts a USING (dataset, backbone, method, variant)
WHERE a.step = 'predictions' AND a.current AND l.differs IS NULL AND {where}
GROUP BY ALL"""


def ablations_section(scope: Scope) -> Section:
    """Return a curve with its band for each swept number, and a table of all variants."""
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
    return Section("ablations", "Ablations", tables=[table], figures=list(_figures(scope)))


def _figures(scope: Scope) -> Iterator[Figure]:
    rows = scope.ask(_SETTINGS.format(where=scope.where(of="l")))
    settings = [json.loads(row["settings"]) for row in rows]
    swept = sorted({name for row in rows if (name := _swept(row)) is not None})
    for name in swept:
        for dataset, backbone in scope.pairs:
            points: dict[str, list[tuple[float, Record]]] = {}
            for row, setting in zip(rows, settings, strict=True):
                here = (row["dataset"], row["backbone"]) == (dataset, backbone) and row["variant"] in (
                    "",
                    _only(row, name),
                )
                if here and isinstance(setting.get(name), int | float):
                    points.setdefault(str(row["method"]), []).append((setting[name], row))
            curves = [
                Curve(
                    method,
                    [x for x, _ in found],
                    [row["wg"] for _, row in found],
                    [row["wg_low"] for _, row in found],
                    [row["wg_high"] for _, row in found],
                )
                for method, unsorted in points.items()
                if len(found := sorted(unsorted, key=lambda point: point[0])) > 1
            ]
            if curves:
                curves += _printed(scope, dataset, backbone, name)
                yield draw_curves(slugged("sweep", name, dataset, backbone), f"{dataset} × {backbone}", name, curves)


def _printed(scope: Scope, dataset: str, backbone: str, name: str) -> Sequence[Curve]:
    """Return the paper's points of the same sweep."""
    rows = scope.ask(
        "SELECT method, variant, wg FROM paper WHERE source LIKE 'figure:%' AND wg IS NOT NULL "
        f"AND dataset = {literal(dataset)} AND backbone = {literal(backbone)} AND variant LIKE {literal(name + '=%')}"
    )
    points: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if _swept(row) == name:
            points.setdefault(str(row["method"]), []).append((float(row["variant"].partition("=")[2]), row["wg"]))
    return [
        Curve(f"{method} (paper)", *map(list, zip(*sorted(found), strict=True))) for method, found in points.items()
    ]


def _swept(row: Record) -> str | None:
    """Return the one number that a variant sets; None where it sets more, or something else."""
    name, _, value = str(row["variant"]).partition("=")
    try:
        float(value)
    except ValueError:
        return None
    return name


def _only(row: Record, name: str) -> str | None:
    return str(row["variant"]) if _swept(row) == name else None
