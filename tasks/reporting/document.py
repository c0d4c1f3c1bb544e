"""What a report consists of, whatever it is written as. Every number in a table comes out of the SQL beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "code", "percent", "points", "count", "number", "share", "moment", "yes", "bytes"]
Record: TypeAlias = Mapping[str, Any]

_DIGEST = 64
MISSING = "–"
"""What stands where there is no value."""


@dataclass(frozen=True)
class Column:
    """A column of a table: a field of its records, and those of the interval around it."""

    name: str
    title: str
    kind: Kind = "text"
    best: Literal["highest", "lowest"] | None = None
    interval: tuple[str, str] | None = None
    heat: bool = False
    hint: str = ""

    @property
    def numeric(self) -> bool:
        """Whether it is set flush right."""
        return self.kind in ("percent", "points", "count", "number", "share", "bytes")

    def one_line(self, record: Record) -> bool:
        """Whether the value is short, and torn apart would be hard to read: a time, a digest, a run."""
        return self.kind == "moment" or (self.kind == "code" and len(self.text(record)) in (*range(25), _DIGEST))

    def text(self, record: Record) -> str:
        """Return the value as people read it."""
        return spelled(record[self.name], self.kind)

    def interval_text(self, record: Record) -> str:
        """Return the interval as people read it; empty where there is none."""
        if self.interval is None or record[self.interval[0]] is None:
            return ""
        low, high = (record[name] for name in self.interval)
        if self.kind == "points":
            return f"{low:+.1f} to {high:+.1f}".replace("-", "−")
        return f"{low:.1f} to {high:.1f}"


@dataclass(frozen=True)
class Table:
    """The answer to one question, and how to set it. `within` are the fields inside which best values are sought."""

    slug: str
    title: str
    sql: str
    columns: Sequence[Column]
    records: Sequence[Record]
    caption: str = ""
    within: Sequence[str] = ()

    @cached_property
    def places(self) -> dict[tuple[int, str], int]:
        """{(row, field): 1 for the best value of its column, 2 for the second best}; all that tie have the place."""
        found: dict[tuple[int, str], int] = {}
        parts: dict[tuple[Any, ...], list[int]] = {}
        for row, record in enumerate(self.records):
            parts.setdefault(tuple(record[name] for name in self.within), []).append(row)
        for column in self.columns:
            for rows in parts.values() if column.best else ():
                values = {row: self.records[row][column.name] for row in rows}
                # Accuracies that print the same are the same: nobody can see a difference in the third decimal.
                digits = 2 if column.kind in ("percent", "points") else 12
                shown = {row: round(value, digits) for row, value in values.items() if value is not None}
                ranked = sorted(set(shown.values()), reverse=column.best == "highest")
                for place, best in enumerate(ranked[:2], start=1):
                    # With one row, or all alike, nothing is better than anything.
                    found |= {(row, column.name): place for row, value in shown.items() if value == best and ranked[1:]}
        return found


@dataclass(frozen=True)
class Figure:
    """A drawing; `alternative` says in words what it shows."""

    slug: str
    title: str
    alternative: str
    svg: str
    pdf: bytes = field(repr=False)


@dataclass(frozen=True)
class Picture:
    """A small image as a data address, and what it shows."""

    address: str
    words: str


@dataclass(frozen=True)
class Example:
    """One prediction taken apart: the image, the scores of its groups, and the references nearest to it."""

    title: str
    text: str
    picture: Picture | None
    columns: Sequence[Column]
    records: Sequence[Record]
    neighbours: Mapping[str, Sequence[Picture]]


@dataclass(frozen=True)
class Section:
    """A part of a report; `remark` says why there is nothing in it."""

    slug: str
    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    examples: Sequence[Example] = ()
    remark: str = ""


@dataclass(frozen=True)
class Report:
    """A whole report. `tiles` are the few figures of the first glance, as (value, what it counts)."""

    title: str
    made: datetime
    headline: Sequence[str]
    tiles: Sequence[tuple[str, str]]
    sections: Sequence[Section]

    @property
    def tables(self) -> list[Table]:
        """All tables, in order."""
        return [table for section in self.sections for table in section.tables]

    @property
    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [figure for section in self.sections for figure in section.figures]


def spelled(value: Any, kind: Kind = "text") -> str:
    """Return a value as people read it, a dash for none."""
    if value is None or value == "":
        return MISSING
    if kind == "percent":
        return f"{value:.2f}"
    if kind == "points":
        return f"{value:+.2f}".replace("-", "−")
    if kind == "count":
        return f"{value:,}"
    if kind == "number":
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
    if kind == "share":
        return f"{100 * value:.1f} %"
    if kind == "bytes":
        return _size(value)
    if kind == "yes" or isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    return str(value)


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
