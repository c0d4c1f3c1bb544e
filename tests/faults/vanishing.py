"""A shared folder that goes away while a run is under way, and comes back."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from data_catalog.home import Home
from tests.faults.fault import Deed, begin
from tests.faults.world import World, committed, wait_for_share


@contextmanager
def vanishing_folder(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Move the home away while a run is under way, and back a little later or when the run has ended."""
    story = begin(world, chance, home)
    share, absence = chance.random(), chance.choice((0.001, 0.05, 0.5, 100.0))
    away = home.root.with_name("away")
    started = world.start(home, *world.words)
    wait_for_share(world, home, started, share)
    met = not started.ended()
    home.root.rename(away)
    deed.kept.update(committed(Home(away)))
    back = time.perf_counter() + absence
    while time.perf_counter() < back and not started.ended():
        time.sleep(0.001)
    made_up = sorted(str(path.relative_to(home.root)) for path in home.root.rglob("*")) if home.root.exists() else None
    if made_up is not None:
        deed.complaints.append(f"the run has made a home of its own where the folder was: {made_up[:8]}")
        home.root.rename(home.root.with_name("made up"))
    away.rename(home.root)
    ran = started.wait()
    deed.must_end(ran, 0, 1, 2)
    deed.took_effect = met
    deed.keep(home)
    deed.what = f"{story}, gone after {share:.0%} for {absence} s at most ({ran.code}): {ran.err.strip()[:300]}"
    yield
