"""What `dat run` shows while it runs: a line for each step on a terminal, a line for each cell in a pipe."""

import time
from collections import Counter
from collections.abc import Sequence
from threading import Lock
from types import TracebackType

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from data_catalog.planning.cell import Cell
from flows.cli.terminal.escaping import escape
from flows.cli.terminal.output import errors
from tasks.engine.events import CellOutcome

_ORDER = ("computed", "adopted", "reproduced", "drifted", "up to date", "not applicable", "failed", "blocked")
_COLOURS = {"failed": "red", "blocked": "red", "drifted": "yellow", "not applicable": "yellow", "up to date": "dim"}


class LiveSteps:
    """Shows how far each step is: cells done, what runs with its rate and the time left, what failed."""

    def __init__(self, cells: Sequence[Cell], *, quiet: bool = False) -> None:
        self._quiet, self._lock = quiet, Lock()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[doing]}"),
            console=errors,
            disable=quiet or not errors.is_terminal,
        )
        totals = Counter(cell.step for cell in cells)
        self._bars: dict[str, TaskID] = {
            step: self._progress.add_task(step, total=total, start=False, doing="") for step, total in totals.items()
        }
        self._counts: dict[str, Counter[str]] = {step: Counter() for step in totals}
        self._began: dict[str, tuple[float, int]] = {}

    def __enter__(self) -> "LiveSteps":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def started(self, cell: Cell) -> None:
        """Show what runs."""
        self._progress.start_task(self._bars[cell.step])
        self._progress.update(self._bars[cell.step], doing=f"[cyan]{escape(_place(cell))}[/]")

    def progressed(self, cell: Cell, done: int, total: int, failed: int) -> None:
        """Show how far it is, how fast, how long it will take, and what could not be read."""
        now = time.monotonic()
        began, first = self._began.setdefault(cell.name, (now, done))
        rate = (done - first) / (now - began) if now > began else 0.0
        speed = f", {rate:,.0f}/s, {_duration((total - done) / rate)} left" if rate else ""
        trouble = f", [red]{failed:,} failed[/]" if failed else ""
        doing = f"[cyan]{escape(_place(cell))}[/] {done:,} of {total:,}{speed}{trouble}"
        self._progress.update(self._bars[cell.step], doing=doing)

    def settled(self, outcome: CellOutcome) -> None:
        """Count it."""
        step = outcome.cell.step
        with self._lock:
            counts = self._counts[step]
            counts[outcome.outcome] += 1
            told = ", ".join(_coloured(name, f"{counts[name]} {name}") for name in _ORDER if counts[name])
        bar = self._bars[step]
        if outcome.outcome != "up to date":
            self._progress.start_task(bar)
        self._progress.update(bar, advance=1, doing=told)
        if self._progress.disable and not self._quiet and outcome.outcome != "up to date":
            errors.print(_line(outcome))
        elif outcome.failed:
            self._progress.console.print(_line(outcome))


class LiveReading:
    """Shows how far the reading of new and changed files is: called with a source, files done and in all."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("reading the files of {task.description}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=errors,
            disable=not errors.is_terminal,
            transient=True,
        )
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> "LiveReading":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, name: str, done: int, total: int) -> None:
        """Show it."""
        if name not in self._bars:
            self._bars[name] = self._progress.add_task(escape(name), total=total)
        self._progress.update(self._bars[name], completed=done, total=total)


def _line(outcome: CellOutcome) -> str:
    colour = _COLOURS.get(outcome.outcome, "green")
    why = outcome.error if outcome.outcome == "not applicable" else outcome.reason
    reason = f"[dim]({escape(why)})[/]" if why else ""
    return f"[{colour}]{outcome.outcome:>10}[/] {escape(outcome.cell.name)} {reason} [dim]{outcome.seconds:.2f} s[/]"


def _place(cell: Cell) -> str:
    return cell.name.partition("/")[2]


def _coloured(outcome: str, text: str) -> str:
    colour = _COLOURS.get(outcome, "green")
    return f"[{colour}]{text}[/]"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
