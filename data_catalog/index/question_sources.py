"""What a question in SQL reads: which views, hence manifests of which steps, run records and data files."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from data_catalog.index.step_views import STEP_VIEWS
from data_catalog.index.views import VIEWS, view_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FILE_STEPS = ("predictions", *STEP_VIEWS)
"""Steps whose Parquet files a view of the same name reads."""
EVERY_STEP = ""
"""How the names of all steps begin."""

# How the names of the steps begin whose manifests a view reads by itself, beside those of the views it builds on.
_STEPS = {
    **dict.fromkeys(("artifacts", "lineage", "costs", "efficiency"), (EVERY_STEP,)),
    **dict.fromkeys(("runs", "decisions", "drift", "paper", "leaderboard", "vs_paper", "sweeps", "sensitivity"), ()),
    **dict.fromkeys(("results", "not_applicable"), ("metrics", "predictions")),
    "group_accuracy": ("metrics",),
    "comparisons": ("over_", "predictions"),
    "predictions": ("predictions",),
    **{step: (step,) for step in STEP_VIEWS},
}
# Run records say which artifact a cell stands for, so whatever asks for current artifacts reads them, too.
_WITHOUT_RECORDS = ("paper", "lineage", "costs")
_BUILDS_ON = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)\b(?!\.)", re.IGNORECASE)


@dataclass(frozen=True)
class Sources:
    """What an answer depends on."""

    steps: frozenset[str] = frozenset()
    """How the names of the steps begin whose manifests are read."""
    records: bool = False
    """Whether run records are read."""
    files: frozenset[str] = frozenset()
    """Steps whose data files are read."""
    direct: bool = False
    """Whether files are read by functions such as `read_parquet`."""
    texts: tuple[str, ...] = ()
    """Texts and parameters of a question that reads files directly: paths are among them."""

    def __or__(self, other: "Sources") -> "Sources":
        return Sources(
            self.steps | other.steps,
            self.records or other.records,
            self.files | other.files,
            self.direct or other.direct,
            self.texts + other.texts,
        )

    def reads_step(self, step: str) -> bool:
        """Whether manifests of a step are read; of an unknown step, whether any are."""
        return any(step.startswith(start) for start in self.steps) if step else bool(self.steps)


EVERYTHING = Sources(frozenset({EVERY_STEP}), True)


def sources_of(connection: "DuckDBPyConnection", sql: str, parameters: list[Any]) -> Sources:
    """Return what a question reads, without carrying it out. Where that is unclear, more is returned, not less."""
    import duckdb

    try:
        (text,) = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchone() or ("",)
        tree = json.loads(text)
    except (duckdb.Error, ValueError, RecursionError):
        tree = {"error": True}
    if tree["error"]:  # EXPLAIN, PIVOT and others are not written out
        return _by_words(sql, parameters)
    found, texts = Sources(), _texts(parameters)
    for node in _nodes(tree):
        kind = node.get("type")
        if kind == "BASE_TABLE":
            found |= _of_table(str(node["schema_name"]), str(node["table_name"]))
            texts += [str(node["table_name"])]
        elif kind == "TABLE_FUNCTION":
            name = str(node["function"].get("function_name", "")).lower()
            if name in ("query", "query_table"):
                return _by_words(sql, parameters)
            found |= Sources(direct=_reads_files(name))
        elif kind == "VALUE_CONSTANT":
            texts += _texts(node)
    return found | Sources(texts=tuple(texts)) if found.direct else found


@cache
def sources_of_view(view: str) -> Sources:
    """Return what a view reads, with the views it builds on."""
    found = Sources(
        frozenset(_STEPS[view]),
        view not in _WITHOUT_RECORDS,
        frozenset({view}) if view in FILE_STEPS else frozenset(),
    )
    for name in _BUILDS_ON.findall(view_sql(view)):
        if name in VIEWS and name != view:
            found |= sources_of_view(name)
    return found


def _of_table(schema: str, table: str) -> Sources:
    name = table.lower()
    if schema.lower() != "store":
        return sources_of_view(name) if name in VIEWS else Sources(direct="." in table or "/" in table)
    step = {"prediction_files": "predictions"}.get(name, name.removesuffix("_files"))
    return {
        "paper": Sources(),
        "cells": EVERYTHING,
        "artifacts": Sources(frozenset({EVERY_STEP})),
        "lineage": Sources(frozenset({EVERY_STEP})),
        "runs": Sources(records=True),
        "decisions": Sources(records=True),
    }.get(name, sources_of_view(step) if step in FILE_STEPS else Sources())


def _by_words(sql: str, parameters: list[Any]) -> Sources:
    """Return what the words of a question may mean, those within texts, too."""
    found = Sources()
    for word in set(re.findall(r"\w+", sql.lower())):
        found |= _of_table("main", word) | _of_table("store", word) | Sources(direct=_reads_files(word))
    if "parquet" in sql.lower():
        found |= Sources(direct=True)
    texts = [text.replace("''", "'") for text in re.findall(r"'((?:[^']|'')*)'", sql)]
    return found | Sources(texts=tuple(texts + _texts(parameters))) if found.direct else found


def _reads_files(function: str) -> bool:
    return function.startswith("read_") or function in ("parquet_scan", "sniff_csv") or "_scan" in function


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _texts(value: Any) -> list[str]:
    """Return all texts within parameters or a part of a tree."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for part in value for text in _texts(part)] if isinstance(value, list | tuple) else []
