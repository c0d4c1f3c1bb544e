"""What commands print: tables and colours on a terminal, plain text in a pipe, JSON where a machine reads."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from data_catalog.errors import UserError
from data_catalog.index.reader import Answer
from flows.cli.terminal.escaping import escape, shortened, shown

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"[-+]?\d*\.?\d+(e[-+]?\d+)?")

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


class Copy:
    """A stream that keeps what is written to it and passes it on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.text = ""

    def write(self, text: str) -> int:
        """Write, and keep."""
        self.text += text
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def copied(name: Literal["stdout", "stderr"]) -> Iterator[Copy]:
    """Give what is printed meanwhile, beside printing it."""
    stream = getattr(sys, name)
    copy = Copy(stream)
    setattr(sys, name, copy)
    try:
        yield copy
    finally:
        setattr(sys, name, stream)


def complain(error: UserError) -> None:
    """Print an error: what and where, then what helps."""
    text = f"{error.where}: {error.problem}" if error.where else error.problem
    errors.print(f"[bold red]error:[/] {escape(shortened(text))}")
    if error.remedy:
        errors.print(f"  [dim]→[/] {escape(shortened(error.remedy))}")


def note(text: str) -> None:
    """Print a remark that is not part of the answer."""
    errors.print(f"[dim]{escape(shortened(text))}[/]")


def warn(warnings: Iterable[str]) -> None:
    """Print what an answer rests on and is damaged, missing or unverified, to standard error."""
    for text in warnings:
        errors.print(f"[bold yellow]warning:[/] {escape(shortened(text))}")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_plain)
    # What JSON leaves as it is and a terminal obeys, or UTF-8 cannot write.
    sys.stdout.write(re.sub(r"[\x7f-\x9f\ud800-\udfff]", lambda found: f"\\u{ord(found.group()):04x}", text) + "\n")


def json_records(answer: Answer) -> list[dict[str, Any]]:
    """Return rows as dictionaries, JSON columns as the data they hold."""
    return [
        {
            name: json.loads(value) if kind == "JSON" and value is not None else value
            for name, kind, value in zip(answer.columns, answer.types, row, strict=True)
        }
        for row in answer.rows
    ]


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    title: str = "",
    *,
    too_wide: Literal["wrap", "records"] = "wrap",
) -> None:
    """Print rows under their column names: ruled on a terminal, aligned plain text in a pipe.

    Where rows are too wide for the terminal, either the last column is wrapped, or each row becomes a record with a
    line a column.
    """
    columns, texts = [shown(name) for name in columns], [[cell_text(value) for value in row] for row in rows]
    numeric = [_numeric(values) for values in zip(*texts, strict=True)] if texts else [False] * len(columns)
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    if not console.is_terminal:
        _print_plain(columns, texts, widths, numeric)
    elif too_wide == "records" and sum(widths) + 3 * len(widths) > console.width:
        _print_records(columns, texts)
    else:
        table = Table(
            title=escape(title) or None, title_justify="left", title_style="bold", header_style="bold", box=SIMPLE_HEAD
        )
        for position, (name, right) in enumerate(zip(columns, numeric, strict=True), start=1):
            table.add_column(escape(name), justify="right" if right else "left", no_wrap=position < len(columns))
        for row in texts:
            table.add_row(*map(escape, row))
        console.print(table)


def cell_text(value: Any) -> str:
    """Return a value as it stands in a table; digests are shortened, which is enough to ask for them by."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return f"{value[:12]}…"
    return shown(str(value))


def size_text(count: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _print_plain(columns: Sequence[str], texts: list[list[str]], widths: list[int], numeric: list[bool]) -> None:
    for row in [list(columns), *texts]:
        cells = [text.rjust(w) if right else text.ljust(w) for text, w, right in zip(row, widths, numeric, strict=True)]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _print_records(columns: Sequence[str], texts: list[list[str]]) -> None:
    width = max(map(len, columns))
    for number, row in enumerate(texts, start=1):
        console.rule(f"[dim]{number}[/]", align="left", style="dim")
        for name, text in zip(columns, row, strict=True):
            if text:
                console.print(f"[bold]{escape(name.rjust(width))}[/]  {escape(text)}")


def _numeric(values: Sequence[str]) -> bool:
    filled = [value for value in values if value]
    return bool(filled) and all(map(_NUMBER.fullmatch, filled))


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)
