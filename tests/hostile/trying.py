"""Trying one kind of hostile input for a while, in a process of its own that may crash or hang."""

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from tests.hostile.kinds import KINDS, Kind
from tests.hostile.watching import World

SILENCE = 300
"""Seconds after which a process that says nothing counts as hanging, beyond what its own alarm can end."""
_ROOM = 6 * 2**30


@dataclass
class Tally:
    """What came of the commands of one kind."""

    tried: int = 0
    accepted: int = 0
    refused: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)


def prepared(kind: Kind, folder: Path) -> World:
    """Return a valid world of a kind, from which its cases start."""
    world = World(folder)
    for place in (world.home, world.work):
        place.mkdir(parents=True)
    (world.folder / "outside.txt").write_text("not yours")
    kind.prepare(world)
    return world


def tried(name: str, seed: int, seconds: float, cases: int | None) -> Tally:
    """Try cases of one kind, in processes that are started anew whenever one dies or hangs."""
    tally, end, context = Tally(), time.monotonic() + seconds, multiprocessing.get_context("spawn")
    first, last = seed, sys.maxsize if cases is None else seed + cases
    while first < last and (time.monotonic() < end or not tally.tried):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(name, first, last, theirs), daemon=True)
        process.start()
        theirs.close()
        before = first
        for case in _told(ours, tally, end):
            first = case + 1
        process.kill()
        process.join()
        if first == before:
            raise RuntimeError(f"{name}: the process did not begin")
    return tally


def _told(pipe: Connection, tally: Tally, end: float) -> Iterator[int]:
    """Keep the tally of what a process tells, and yield each case that it begins."""
    case, began = None, False
    while True:
        if not pipe.poll(SILENCE):
            tally.failures.append((case if case is not None else -1, "the process hangs"))
            return
        try:
            told = pipe.recv()
        except EOFError:
            if began:
                tally.failures.append((case if case is not None else -1, "the process died"))
            return
        if isinstance(told, int):
            case, began = told, True
            yield case
            continue
        began = False
        for words, code, faults in told:
            tally.tried += 1
            if faults:
                tally.failures.append(
                    (case if case is not None else -1, f"dat {' '.join(words)!r:.200}\n{'; '.join(faults)}")
                )
            elif code == 0:
                tally.accepted += 1
            else:
                tally.refused += 1
        if time.monotonic() > end:
            return


def _work(name: str, first: int, last: int, pipe: Connection) -> None:
    """Try one case after the other, and tell of each before it begins and when it has ended."""
    with tempfile.TemporaryDirectory() as folder:
        kind, template = KINDS[name], prepared(KINDS[name], Path(folder, "template"))
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _ROOM, used + _ROOM))
        for seed in range(first, last):
            pipe.send(seed)
            done = kind.case(template, Path(folder, "case"), seed)
            pipe.send([(ran.words, ran.code, ran.faults) for ran in done])
