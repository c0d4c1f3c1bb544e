"""A dataset of images that is edited between runs, some of which are killed."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

from data_catalog.home import Home
from data_catalog.store.artifacts import Store
from data_catalog.store.verification import verify
from tests.edited_images import EditedImages, decided
from tests.faults.fault import Deed
from tests.faults.killed import die_at_touch
from tests.faults.world import World

_TOUCHES = 250
_EDITS = 3


@contextmanager
def edited_images(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Edit images, tables and times between runs: the last run equals one in a home that has seen nothing else."""
    world.fill(home)
    images = EditedImages(home.root.parent, chance.randrange(10**6))
    place, fresh = (Home(home.root.with_name(name)) for name in ("editing", "fresh"))
    for _ in range(_EDITS):
        touch = chance.randrange(1, _TOUCHES)
        dying = chance.random() < 0.5
        ran = world.dat(place, *images.request(), first=partial(_begin, touch if dying else 0, place))
        deed.must_end(ran, 0, -signal.SIGKILL)
        deed.what += f"{'killed at touch ' + str(touch) if ran.code else 'run'}, {images.edit()}; "
    for one in (place, fresh):
        deed.must_end(world.dat(one, *images.request(), first=partial(_begin, 0, one)), 0)
    deed.complaints += [f"visible and damaged: {damage.file}" for damage in verify(Store(place)).damaged]
    if decided(place) != decided(fresh):
        deed.complaints.append("the results differ from those of a fresh home")
    deed.took_effect = True
    yield


def _begin(touch: int, home: Home) -> None:
    """Decode in this process, which may have no children, and die at a touch of a file, if one is given."""
    os.environ["DAT_WORKERS"] = "0"
    if touch:
        die_at_touch(touch, home)
