"""A clock that goes backwards: between runs and within them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

from data_catalog.home import Home
from data_catalog.index.reader import query
from tests.faults.fault import Deed
from tests.faults.meddling import turn_back_clock
from tests.faults.world import World

_YEAR = 365 * 86400.0


@contextmanager
def clock_backwards(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Compute other results in the future, then those of the suite with a clock that jumps back again and again."""
    spec = home.specs / "datasets" / "tiny.toml"
    meant = spec.read_text()
    later, back = chance.uniform(0, 2 * _YEAR), chance.choice((60.0, 86400.0, _YEAR, 10 * _YEAR))
    jumps = [(chance.uniform(0, world.seconds), chance.choice((-1, -1, 1)) * chance.uniform(0, back)) for _ in range(6)]
    with world.reader(home) as reader:
        spec.write_text(meant.replace("seed = 7", "seed = 8"))
        deed.must_end(world.dat(home, *world.words, first=partial(turn_back_clock, time.time() + later, [])), 0)
        deed.keep(home)
        spec.write_text(meant)
        ran = world.dat(home, *world.words, first=partial(turn_back_clock, time.time() - back, jumps))
    deed.must_end(ran, 0)
    deed.complaints += reader.complaints
    deed.keep(home)
    started = query(home, "SELECT started, finished FROM runs ORDER BY run_id").rows
    deed.took_effect = len(started) == 2 and started[1][0] < started[0][0]
    deed.what = f"a run {later / 86400:.0f} days ahead, then one {back / 86400:.1f} days behind whose clock jumps"
    yield
