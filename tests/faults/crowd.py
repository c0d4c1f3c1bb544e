"""Several runs of the same suite at the same time, also with some of them killed, also where every touch is slow."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

from data_catalog.home import Home
from data_catalog.index.reader import query
from tests.faults.fault import Deed, begin
from tests.faults.meddling import slow_down
from tests.faults.world import World, nothing

_TWICE = "SELECT cell FROM decisions WHERE outcome = 'computed' GROUP BY cell, key HAVING count(*) > 1"


@contextmanager
def two_runs(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Two runs at once."""
    _crowd(world, chance, home, deed, 2)
    yield


@contextmanager
def four_runs(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Four runs at once."""
    _crowd(world, chance, home, deed, 4)
    yield


@contextmanager
def slow_folder(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Two runs at once on a shared folder that takes its time."""
    _crowd(world, chance, home, deed, 2, slowest=chance.uniform(0.002, 0.02))
    yield


def _crowd(world: World, chance: Random, home: Home, deed: Deed, size: int, slowest: float = 0.0) -> None:
    """Start some runs a little after each other and perhaps kill one of them; none may compute what another has."""
    story = begin(world, chance, home)
    victim = chance.randrange(size) if chance.random() < 0.3 else None
    death = chance.uniform(0.2, 1.0) * world.seconds
    with world.reader(home) as reader:
        runs = []
        for number in range(size):
            slow = partial(slow_down, home, slowest, number) if slowest else nothing
            runs.append(world.start(home, *world.words, first=slow))
            time.sleep(chance.uniform(0, 0.15))
        if victim is not None:
            time.sleep(death)
            runs[victim].kill()
        ended = [run.wait() for run in runs]
    deed.complaints += reader.complaints
    for number, ran in enumerate(ended):
        deed.must_end(ran, 0, *([-signal.SIGKILL] if number == victim else []))
    deed.keep(home)
    tally = sum((Counter(ran.outcomes()) for ran in ended if ran.code == 0), Counter[str]())
    deed.took_effect = tally["adopted"] > 0
    if victim is None and (twice := query(home, _TWICE).rows):
        deed.complaints.append(f"computed twice: {twice[:5]}")
    killed = "" if victim is None else f", one killed after {death:.2f} s"
    slow = f", each touch up to {1000 * slowest:.0f} ms late" if slowest else ""
    deed.what = f"{story}, {size} runs at once{slow}{killed}: {dict(tally)}"
