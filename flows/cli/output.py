"""What commands print: tables and colours on a terminal, plain text in a pipe, JSON where a machine reads."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from data_catalog.errors import UserError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def complain(error: UserError) -> None:
    """Print an error: what and where, then what helps."""
    text = f"{error.where}: {error.problem}" if error.where else error.problem
    errors.print(f"[bold red]error:[/] {escape(text)}")
    if error.remedy:
        errors.print(f"  [dim]→[/] {escape(error.remedy)}")


def note(text: str) -> None:
    """Print a remark that is not part of the answer."""
    errors.print(f"[dim]{escape(text)}[/]")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=_plain) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> None:
    """Print rows under their column names: framed on a terminal, aligned plain text elsewhere."""
    texts = [[cell_text(value) for value in row] for row in rows]
    numeric = [_numeric(values) for values in zip(*texts, strict=True)] if texts else [False] * len(columns)
    if not console.is_terminal:
        _print_plain(columns, texts, numeric)
        return
    table = Table(title=title or None, title_justify="left", title_style="bold", header_style="bold")
    for name, right in zip(columns, numeric, strict=True):
        table.add_column(escape(name), justify="right" if right else "left", overflow="fold")
    for row in texts:
        table.add_row(*map(escape, row))
    console.print(table, soft_wrap=False)


def cell_text(value: Any) -> str:
    """Return a value as it stands in a table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value)


def size_text(count: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _print_plain(columns: Sequence[str], texts: list[list[str]], numeric: list[bool]) -> None:
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    for row in [list(columns), *texts]:
        cells = [text.rjust(w) if right else text.ljust(w) for text, w, right in zip(row, widths, numeric, strict=True)]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _numeric(values: Sequence[str]) -> bool:
    filled = [value for value in values if value]
    return bool(filled) and all(value.replace(".", "", 1).lstrip("-+").isdigit() for value in filled)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)
