"""`python -m tests.benchmarks [NAME ...]` runs every `bench_NAME.py` of this folder, or those named, in turn.

Each prints what it measured as it goes; the ratios of all come last, in one table. Nothing depends on absolute times.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.benchmarks.timing import ROWS, Row

FOLDER = Path(__file__).parent
_WIDTH = 160
"""Columns of the table where it goes to a file."""


def main() -> int:
    """Run the benchmarks; a failing one stops none of the others. Return 1 when any failed."""
    names = sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Print times and ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(names)} (default: all)")
    parser.add_argument("--list", action="store_true", help="only list the names")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(names))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are: {', '.join(names)}")
    if arguments.list:
        print("\n".join(names))
        return 0
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        rows = Path(folder) / "rows.jsonl"
        rows.touch()
        failed, parts = [], []
        for name in arguments.names or names:
            if not _run(name, rows):
                failed.append(name)
            parts.append([Row(**json.loads(line)) for line in rows.read_text(encoding="utf-8").splitlines()])
            rows.write_text("")
        print_rows(parts)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


def print_rows(parts: list[list[Row]]) -> None:
    """Print the table of ratios, those of each benchmark together."""
    machine = f"{os.cpu_count()} processors, Python {platform.python_version()}"
    table = Table(title=f"each ratio measured in one run, on {machine}", title_justify="left", box=SIMPLE_HEAD)
    for column in ("what over what", "ours", "beside", "ratio", "target", "met"):
        table.add_column(column, justify="right" if column == "ratio" else "left", overflow="fold")
    words = {True: "[green]yes[/]", False: "[red]no[/]", None: ""}
    for rows in parts:
        for row in rows:
            note = f"\n  [dim]{escape(row.note)}[/]" if row.note else ""
            ratio = f"{row.ratio:.3g}" if row.ratio < 1000 else f"{row.ratio:,.0f}"
            table.add_row(
                escape(row.what) + note, escape(row.ours), escape(row.peer), ratio, row.target, words[row.met]
            )
        table.add_section()
    console = Console()
    console.width = console.width if console.is_terminal else _WIDTH
    console.print(table)


def _run(name: str, rows: Path) -> bool:
    print(f"\n=== {name} {'=' * (74 - len(name))}", flush=True)
    print(f"({os.cpu_count()} processors, {os.getloadavg()[0]:.1f} processes busy before it began)", flush=True)
    started = time.perf_counter()
    words = [sys.executable, "-m", f"tests.benchmarks.bench_{name}"]
    code = subprocess.run(words, cwd=FOLDER.parents[1], env={**os.environ, ROWS: str(rows)}).returncode
    outcome = "" if code == 0 else f", FAILED with exit code {code}"
    print(f"({time.perf_counter() - started:.0f} s{outcome})", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main())
