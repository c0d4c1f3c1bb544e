"""The commands beside `dat run` that write: imports and reports, killed at any touch of a file."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from dat_lib.toyworld.simulation import simulate
from data_catalog.home import Home
from data_catalog.store.artifacts import Store
from data_catalog.store.garbage import collect
from data_catalog.store.verification import verify
from tests.conftest import PROMPTS, write_world
from tests.data_catalog.worlds import leftovers
from tests.faults.fault import Deed
from tests.faults.killed import die_at_touch
from tests.faults.world import World, committed, results

_IMPORT = ("import", "embeddings", "export", "--dataset", "birds", "--backbone", "my-clip")
_RUN = ("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot", "--method", "tie")
_TOUCHES_OF_IMPORT = 70
_TOUCHES_OF_REPORT = 80


@contextmanager
def killed_import(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Kill an import once or twice: what it brings is known whole or not at all, and the next one completes."""
    world.fill(home)
    undisturbed, other = (home.root.with_name(name) for name in ("undisturbed", "importing"))
    _write_export(home.root.with_name("export"))
    for words in (_IMPORT, _RUN):
        deed.must_end(world.dat(Home(undisturbed), *words), 0)
    place = Home(other)
    for _ in range(chance.choice((1, 1, 2))):
        touch = chance.randrange(1, _TOUCHES_OF_IMPORT)
        ran = world.dat(place, *_IMPORT, first=partial(die_at_touch, touch, place))
        deed.must_end(ran, 0, -signal.SIGKILL)
        deed.took_effect |= ran.code == -signal.SIGKILL
        deed.what += f"import {'killed at' if ran.code else 'ended before'} touch {touch}; "
        deed.complaints += [f"visible and damaged: {damage.file}" for damage in verify(Store(place)).damaged]
        deed.must_end(world.dat(place, "validate"), 0)
        known = (place.specs / "datasets/birds.toml").exists()
        deed.must_end(world.dat(place, "plan", *_RUN[1:]), 0 if known else 2)
    for words in (_IMPORT, _RUN):
        deed.must_end(world.dat(place, *words), 0)
    if committed(place) != committed(Home(undisturbed)) or results(place) != results(Home(undisturbed)):
        deed.complaints.append("what was imported differs from what an undisturbed import brings")
    collect(place, ["orphans"], apply=True)
    deed.complaints += [f"the import left {path}" for path in leftovers(place)]
    yield


@contextmanager
def killed_report(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Kill a report that replaces another: one of both is there, or none, and the next one leaves nothing else."""
    world.fill(home)
    words, folder = ("report", world.suite), home.root / "reports" / world.suite
    deed.must_end(world.dat(home, *words), 0)
    whole = _files(folder)
    touch = chance.randrange(1, _TOUCHES_OF_REPORT)
    ran = world.dat(home, *words, first=partial(die_at_touch, touch, home))
    deed.must_end(ran, 0, -signal.SIGKILL)
    deed.took_effect = ran.code == -signal.SIGKILL
    deed.what = f"report {'killed at' if ran.code else 'ended before'} touch {touch} with {len(whole)} files"
    if _files(folder) not in (whole, set()):
        deed.complaints.append(f"half a report: {sorted(whole ^ _files(folder))}")
    deed.must_end(world.dat(home, *words), 0)
    if _files(folder) != whole:
        deed.complaints.append(f"the next report differs: {sorted(whole ^ _files(folder))}")
    yield


def _write_export(folder: Path) -> None:
    folder.mkdir()
    write_world(folder, simulate(seed=3, dim=16, train=200, val=20, test=60))
    (folder / "prompts.toml").write_text(PROMPTS)


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
