"""Taking times: repeat, report the median and the spread, print a table, hand on the ratios."""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

ROWS = "DAT_BENCH_ROWS"
"""The variable that names the file in which the rows of all benchmarks are gathered."""
DAT = str(Path(sys.executable).with_name("dat"))


@dataclass(frozen=True)
class Row:
    """One ratio, measured in one run: what of ours, beside what of whom, and what it should be."""

    what: str
    ours: str
    peer: str
    """What it is compared with, with its version, and what that took."""
    ratio: float
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def target(self) -> str:
        """The target in words; empty where there is none."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return f"at least {self.at_least:g}" if self.at_least is not None else ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.at_most is not None:
            return self.ratio <= self.at_most
        return self.ratio >= self.at_least if self.at_least is not None else None


def hand_on(rows: Sequence[Row]) -> None:
    """Add rows to those that `python -m tests.benchmarks` gathers; without it, to none."""
    place = os.environ.get(ROWS)
    if place:
        with Path(place).open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(asdict(row)) + "\n" for row in rows)


def released(package: str) -> str:
    """Return a package with its version, such as `duckdb 2.0.0`."""
    return f"{package} {version(package)}"


@dataclass(frozen=True)
class Timing:
    """The same thing done several times: wall times, and times of the processor, in seconds."""

    wall: tuple[float, ...]
    processor: tuple[float, ...]

    @property
    def median(self) -> float:
        """The wall time in the middle."""
        return statistics.median(self.wall)

    @property
    def spread(self) -> str:
        """The shortest and the longest wall time, as text."""
        return f"{min(self.wall):.2f}–{max(self.wall):.2f}"

    @property
    def processor_median(self) -> float:
        """What it costs however busy the machine is: the time on the processor, with that of child processes."""
        return statistics.median(self.processor)


def measure(action: Callable[[], object], *, repeat: int = 5, prepare: Callable[[], object] = lambda: None) -> Timing:
    """Time `action`, each time after `prepare`, which does not count. For a warm-up, call `action` before."""
    wall, processor = [], []
    for _ in range(repeat):
        prepare()
        started, used = time.perf_counter(), _processor_seconds()
        action()
        wall.append(time.perf_counter() - started)
        processor.append(_processor_seconds() - used)
    return Timing(tuple(wall), tuple(processor))


def command(
    words: Sequence[str], *, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> Callable[[], str]:
    """Return an action that runs a command and returns what it printed, on standard error if nowhere else.

    An exit code other than 0 is an error.
    """

    def run() -> str:
        done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"[-4000:])
        return done.stdout or done.stderr

    return run


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their column names: floats with three places, numbers to the right."""
    texts = [[_text(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    right = [all(isinstance(row[place], (int, float)) for row in rows) for place in range(len(columns))]
    for line in [list(columns), *texts]:
        cells = [text.rjust(w) if r else text.ljust(w) for text, w, r in zip(line, widths, right, strict=True)]
        print("  " + "  ".join(cells).rstrip(), flush=True)


def _processor_seconds() -> float:
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
