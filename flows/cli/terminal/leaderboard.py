"""The ranking that ends a run: it fits 80 columns, and what qualifies a number stands below it."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from data_catalog.home import Home
from data_catalog.index.reader import Questions
from flows.cli.terminal.escaping import escape
from flows.cli.terminal.output import console, print_table, warn

_WORTH_SAYING = 0.001
_LISTED = 40
# Prompts that are longer than the model can read, of the embeddings that count now.
_CUT_PROMPTS = (
    "SELECT DISTINCT dataset, backbone, unnest((summary -> 'truncated')::VARCHAR[]) AS prompt FROM artifacts "
    "WHERE step = 'text_embeddings' AND current ORDER BY prompt"
)
_COLUMNS = ("#", "method", "WG ↑", "95 % interval", "Avg ↑", "Gap ↓")


def print_leaderboard(home: Home, wanted: set[tuple[Any, Any]]) -> None:
    """Print the methods ranked by worst-group accuracy, for each pair of dataset and backbone."""
    with Questions(home) as questions:
        entries: defaultdict[tuple[Any, Any], list[dict[str, Any]]] = defaultdict(list)
        for entry in questions.ask("SELECT * FROM leaderboard").records():
            entries[entry["dataset"], entry["backbone"]].append(entry)
        cut_prompts: defaultdict[tuple[Any, Any], list[str]] = defaultdict(list)
        for dataset, backbone, prompt in questions.ask(_CUT_PROMPTS).rows:
            cut_prompts[dataset, backbone].append(str(prompt))
        absent = not_applicable(questions)
        warn(questions.warnings)
    for dataset, backbone in sorted(wanted):
        every = entries[dataset, backbone]
        ranked = _worth_listing(every)
        if ranked:
            title = f"{dataset} × {backbone}"
            if not console.is_terminal:
                console.print(escape(title))
            print_table(_COLUMNS, [_row(entry) for entry in ranked], title=title)
            for entry in ranked:
                for remark in _remarks(json.loads(entry["notes"] or "{}")):
                    console.print(f"[yellow]{escape(_name(entry))}[/]: {escape(remark)}")
            for prompt in cut_prompts[dataset, backbone]:
                console.print(f"[yellow]{escape(backbone)}[/] cannot read this prompt to its end: {escape(prompt)}")
            if len(every) > len(ranked):
                console.print(f"… and {len(every) - len(ranked)} more with other settings: see the report, or dat sql")
        _print_not_applicable(
            [entry for entry in absent if (entry["dataset"], entry["backbone"]) == (dataset, backbone)]
        )


def not_applicable(questions: Questions) -> list[dict[str, Any]]:
    """Return the methods that cannot do on a dataset what their name says, with the reason."""
    columns = "dataset, backbone, method, variant, seed, reason"
    return questions.ask(f"SELECT {columns} FROM not_applicable ORDER BY ALL").records()


def _print_not_applicable(entries: list[dict[str, Any]]) -> None:
    """Print the reasons, each once, with the methods that it keeps from a result."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for entry in entries:
        if _name(entry) not in names[entry["reason"]]:
            names[entry["reason"]].append(_name(entry))
    for reason, methods in names.items():
        more = f" and {len(methods) - _LISTED} more" if len(methods) > _LISTED else ""
        who = escape(", ".join(methods[:_LISTED]) + more)
        console.print(f"[yellow]not applicable[/]: {who}: {escape(reason)}")


def _worth_listing(ranked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what fits a terminal: all results with a dataset's own settings, and of sweeps the best."""
    room = _LISTED - sum(not entry["variant"] for entry in ranked)
    kept = []
    for entry in ranked:
        if entry["variant"]:
            room -= 1
        if not entry["variant"] or room >= 0:
            kept.append(entry)
    return kept


def _row(entry: dict[str, Any]) -> tuple[Any, ...]:
    low, high = entry["wg_low"], entry["wg_high"]
    interval = "" if low is None else f"{low:.1f} to {high:.1f}"
    return entry["rank"], _name(entry), entry["wg"], interval, entry["avg"], entry["gap"]


def _name(entry: dict[str, Any]) -> str:
    return f"{entry['method']} ({entry['variant']})" if entry["variant"] else str(entry["method"])


def _remarks(notes: dict[str, Any]) -> Iterator[str]:
    """Say what must be known beside a number: dropped groups, reversed similarities, references that are tested."""
    dropped = notes.get("dropped_groups", [])
    if dropped:
        groups = ", ".join(f"({g['class']}, {g['attribute']}) has {g['have']} of {g['need']}" for g in dropped[:4])
        more = f" and {len(dropped) - 4} more" if len(dropped) > 4 else ""
        yield f"{len(dropped)} groups dropped for lack of references: {groups}{more}"
    negative = notes.get("negative_similarity_share", 0)
    if negative >= _WORTH_SAYING:
        yield f"{100 * negative:.1f} % of similarities are negative, where the quotient reverses its meaning"
    without = notes.get("samples_without_embedding", {})
    if without:
        counts = ", ".join(f"{count} of {split}" for split, count in without.items())
        yield f"samples left out because their images could not be read: {counts}"
    tested = notes.get("queries_among_references", 0)
    if tested:
        yield f"{tested} test samples are references themselves"
    known = notes.get("test_samples_in_pool", 0)
    if known:
        yield f"{known} test samples are among the images it may learn from"
