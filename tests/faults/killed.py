"""SIGKILL at any moment, once or several times, to runs and to the commands that keep the house in order."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

from data_catalog.home import Home
from data_catalog.index.reader import query
from tests.data_catalog.worlds import killed_at_touch
from tests.faults.fault import Deed, begin
from tests.faults.world import World, nothing, wait_for_share

_TOUCHES = 300
"""About as often does a run of the whole suite touch a file."""
_KEEPING = (
    ("verify",),
    ("catalog", "rebuild"),
    ("gc", "--scope", "orphans", "--scope", "superseded", "--apply"),
)


@contextmanager
def killed(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Kill a run once, twice or three times, at a moment or as it touches a file; or a command between two kills."""
    story = [begin(world, chance, home)]
    with world.reader(home) as reader:
        for attempt in range(chance.choice((1, 1, 2, 3))):
            words = world.words if attempt == 0 or chance.random() < 0.7 else chance.choice(_KEEPING)
            story.append(_kill(world, chance, home, deed, words))
    deed.complaints += reader.complaints
    statuses = {status for (status,) in query(home, "SELECT DISTINCT status FROM runs").rows}
    if unknown := statuses - {"unfinished", "done"}:
        deed.complaints.append(f"killed runs are said to be {sorted(unknown)}")
    deed.what = "; ".join(story)
    yield


def _kill(world: World, chance: Random, home: Home, deed: Deed, words: tuple[str, ...]) -> str:
    by_touch = chance.random() < 0.5 or words != world.words
    touch, share = chance.randrange(1, _TOUCHES if words == world.words else 20), chance.random()
    more = chance.uniform(0, 0.1)
    started = world.start(home, *words, first=partial(die_at_touch, touch, home) if by_touch else nothing)
    if by_touch:
        ran, moment = started.wait(), f"at touch {touch}"
    else:
        moment = f"{more:.3f} s after {share:.0%} of what was missing"
        wait_for_share(world, home, started, share)
        time.sleep(more)
        ran = started.kill()
    deed.must_end(ran, 0, -signal.SIGKILL)
    deed.took_effect |= ran.code == -signal.SIGKILL
    deed.keep(home)
    return f"`dat {' '.join(words)}` killed {moment}" if ran.code else f"`dat {words[0]}` ended before {moment}"


def die_at_touch(number: int, home: Home) -> None:
    """Be killed just before this process touches a file of the home for the `number`-th time."""
    killed_at_touch(number, home, act=lambda _: None)
