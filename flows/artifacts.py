"""What a run shows in Prefect: its plan with reasons, the leaderboard, and what has drifted."""

import re
from collections.abc import Iterable
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.planning.cell import Cell
from tasks.engine.run import BenchmarkResult, Run

_LISTED = 500
_HEAD = "| dataset | backbone | # | method | WG | 95 % interval | Avg | Gap |"
_DRIFT = ("difference", "wg_change", "avg_change")


def publish_plan(run: Run) -> None:
    """Show which cells are stale and why."""
    stale = run.stale
    rows = [{"cell": d.cell.name, "action": d.action, "why": d.reason} for d in stale[:_LISTED]]
    more = f"; the first {_LISTED} are listed" if len(stale) > _LISTED else ""
    create_table_artifact(
        rows,
        key="plan",
        description=f"{run.order.run_id}: {len(stale)} of {len(run.decisions)} cells are stale or wait{more}",
    )


def publish_leaderboard(home: Home, cells: Iterable[Cell]) -> None:
    """Show the methods ranked by worst-group accuracy on the datasets and backbones of the cells."""
    wanted = {(cell.address["dataset"], cell.address["backbone"]) for cell in cells if cell.step == "metrics"}
    answer = query(home, "SELECT * FROM leaderboard ORDER BY dataset, backbone, rank") if wanted else None
    ranked = answer.records() if answer else []
    warned = [f"Warning: {_markdown(text)}\n" for text in (answer.warnings if answer else ())]
    lines = [*warned, _HEAD, "|---|---|--:|---|--:|---|--:|--:|"]
    for entry in ranked:
        if (entry["dataset"], entry["backbone"]) in wanted:
            lines.append("| " + " | ".join(map(_markdown, _entry(entry))) + " |")
    create_markdown_artifact("\n".join(lines), key="leaderboard", description="Methods ranked by worst-group accuracy")


def publish_drift(result: BenchmarkResult) -> None:
    """Show what a forced rerun has made differently from what is stored; nothing when nothing was forced."""
    forced = [outcome for outcome in result.outcomes if outcome.outcome in ("reproduced", "drifted")]
    if forced:
        rows = [{"cell": o.cell.name, **{name: _number(o.drift.get(name)) for name in _DRIFT}} for o in result.drifted]
        create_table_artifact(
            rows or [{"cell": "none"}],
            key="drift",
            description=f"{result.run_id}: {len(result.drifted)} of {len(forced)} cells came out differently",
        )


def _entry(entry: dict[str, Any]) -> list[str]:
    low, high = entry["wg_low"], entry["wg_high"]
    interval = "" if low is None else f"{low:.1f} to {high:.1f}"
    name = f"{entry['method']} ({entry['variant']})" if entry["variant"] else entry["method"]
    numbers = [f"{entry[column]:.2f}" for column in ("wg", "avg", "gap")]
    return [entry["dataset"], entry["backbone"], str(entry["rank"]), name, numbers[0], interval, *numbers[1:]]


def _markdown(text: str) -> str:
    """Return text that Markdown shows as it is, in a cell of a table."""
    return re.sub(r"([\\`*\[\]|])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
