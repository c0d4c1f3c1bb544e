"""Long rows of small runs: memory, file handles, threads and temporary files do not grow."""

import gc
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from data_catalog.home import Home
from tests.data_catalog.worlds import leftovers
from tests.faults.fault import Deed
from tests.faults.world import LONG, World, take_part, use_temporary
from tests.warm_processes import warm_processes

_WORDS = ("run", "small", "--method", "zero_shot", "--force", "--json")
"""Computes a few cells again and compares them, so that the store stays as it is."""
_GROWTH = 0.05
"""Megabytes a run by which memory may seem to grow."""
_UNSTEADY = 8
"""Megabytes by which memory goes up and down, as allocators have it."""


@dataclass(frozen=True)
class Held:
    """What a process holds after a run."""

    megabytes: float
    handles: int
    threads: int
    temporary: int


@contextmanager
def runs_in_one_process(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Many runs one after the other in the same process, as a schedule's worker does them."""
    here, there = warm_processes().Pipe()
    temporary = Path(tempfile.mkdtemp(prefix="temporary-", dir=world.folder))
    process = warm_processes().Process(target=run_often, args=(home, world.many, temporary, there), daemon=True)
    process.start()
    there.close()
    held: list[Held] = []
    try:
        while len(held) < world.many:
            if not here.poll(LONG):
                deed.complaints.append(f"run {len(held) + 1} hung")
                break
            held.append(here.recv())
    except EOFError:
        deed.complaints.append(f"the process died in run {len(held) + 1}")
    if process.is_alive():
        process.kill()
    process.join()
    deed.keep(home)
    deed.took_effect = len(held) == world.many
    quarter = len(held) // 4
    if deed.took_effect and quarter:
        parts = held[quarter : 2 * quarter], held[-quarter:]
        early, late = (statistics.median(one.megabytes for one in part) for part in parts)
        grown, a_run = late - early, (late - early) / (world.many * 5 / 8)
        course = [round(one.megabytes, 1) for one in held[:: max(1, len(held) // 10)]]
        deed.what = f"{world.many} runs, memory {course} MB, {held[quarter]} then {held[-1]}"
        if grown > _UNSTEADY and a_run > _GROWTH:
            deed.complaints.append(f"memory grows by {a_run:.3f} MB a run")
        for name, late_ones in (("handles", 0), ("threads", os.cpu_count() or 1), ("temporary", 0)):
            before, after = (max(getattr(one, name) for one in part) for part in parts)
            if after > before + late_ones:  # a pool may take the last of its threads late
                deed.complaints.append(f"{name} grow from {before} to {after}")
    yield


@contextmanager
def runs_in_a_row(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Many runs one after the other, each a process of its own: nothing of them stays but their records."""
    temporary = Path(tempfile.mkdtemp(prefix="temporary-", dir=world.folder))
    deed.must_end(world.dat(home, *_WORDS), 0)
    before = _files(home)
    for _ in range(world.many):
        deed.must_end(world.dat(home, *_WORDS, first=partial(use_temporary, temporary)), 0)
        if deed.complaints:
            break
    deed.keep(home)
    deed.took_effect = len(list(home.runs.iterdir())) == world.many + 1
    added = {path for path in _files(home) - before if path.parent != home.runs}
    if added or leftovers(home) or list(temporary.iterdir()):
        deed.complaints.append(f"left behind: {sorted(map(str, added))[:5]} {sorted(leftovers(home))[:5]}")
    deed.what = f"{world.many} runs"
    yield


def run_often(home: Home, count: int, temporary: Path, told: Connection) -> None:
    """Run the command again and again in this process; tell what it holds after each."""
    from flows.cli.app import run

    take_part(home, _WORDS)
    use_temporary(temporary)
    for _ in range(count):
        with redirect_stdout(StringIO()):
            assert run() == 0
        gc.collect()
        told.send(_held(temporary))


def _held(temporary: Path) -> Held:
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    return Held(
        megabytes=int(status["VmRSS"].split()[0]) / 1024,
        handles=len(list(Path("/proc/self/fd").iterdir())),
        threads=int(status["Threads"]),
        temporary=len(list(temporary.rglob("*"))),
    )


def _files(home: Home) -> set[Path]:
    return {path for path in home.root.rglob("*") if path.is_file()}
