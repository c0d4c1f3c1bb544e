"""The campaign: faults tried one after the other, each judged, and a tally of what they met and what survived."""

import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.faults.answers import damaged_answers
from tests.faults.beside import killed_import, killed_report
from tests.faults.clock import clock_backwards
from tests.faults.crowd import four_runs, slow_folder, two_runs
from tests.faults.damaged import damaged_files, damaged_leftovers, damaged_log, damaged_spec
from tests.faults.demo import DemoWorld, killed_demo
from tests.faults.disk import full_disk, read_only, small_files, unwritable
from tests.faults.edited import edited_images
from tests.faults.fault import CannotTryError, Deed, Fault
from tests.faults.judge import judge
from tests.faults.killed import killed
from tests.faults.rows import runs_in_a_row, runs_in_one_process
from tests.faults.vanishing import vanishing_folder
from tests.faults.world import World

QUICK: Mapping[str, Fault] = {
    "killed": killed,
    "killed-import": killed_import,
    "killed-report": killed_report,
    "full-disk": full_disk,
    "small-files": small_files,
    "unwritable": unwritable,
    "read-only": read_only,
    "two-runs": two_runs,
    "four-runs": four_runs,
    "slow-folder": slow_folder,
    "vanishing-folder": vanishing_folder,
    "clock-backwards": clock_backwards,
    "damaged-files": damaged_files,
    "damaged-answers": damaged_answers,
    "damaged-spec": damaged_spec,
    "damaged-leftovers": damaged_leftovers,
    "damaged-log": damaged_log,
    "edited-images": edited_images,
}
OF_DEMO: Mapping[str, Fault] = {"killed-demo": killed_demo}
ROWS: Mapping[str, Fault] = {"runs-in-one-process": runs_in_one_process, "runs-in-a-row": runs_in_a_row}
"""Long rows of runs: tried in the first round only."""
FAULTS: Mapping[str, Fault] = {**QUICK, **OF_DEMO, **ROWS}


@dataclass(frozen=True)
class Trial:
    """One fault that was tried. It is survived when it met something and nobody complains."""

    fault: str
    seed: int
    what: str
    took_effect: bool
    complaints: Sequence[str]
    seconds: float

    @property
    def survived(self) -> bool:
        """Whether the fault met something and did no harm."""
        return self.took_effect and not self.complaints

    @property
    def command(self) -> str:
        """The command that tries the same again."""
        return f"python -m tests.faults --seed {self.seed} --rounds 1 {self.fault}"


@dataclass
class Tally:
    """What has been tried so far."""

    trials: list[Trial] = field(default_factory=list)
    cannot: dict[str, str] = field(default_factory=dict)
    """Faults that cannot be made here, and why."""

    @property
    def failed(self) -> list[Trial]:
        """Those somebody complains about."""
        return [trial for trial in self.trials if trial.complaints]


def attempt(world: World, name: str, seed: int) -> Trial:
    """Try one fault in a home of its own, which stays when somebody complains; `CannotTryError` where it cannot be."""
    world = demo_of(world) if name in OF_DEMO else world
    world.prepare()
    chance, deed, started = Random(f"{name} {seed}"), Deed(), time.perf_counter()
    world.input_memory = chance.choice((0, 1024))
    home = world.fresh_home(name)
    try:
        with FAULTS[name](world, chance, home, deed):
            deed.complaints += judge(world, home, deed)
    except CannotTryError:
        raise
    except Exception:
        deed.complaints.append(traceback.format_exc())
    finally:
        world.end_all()
    if deed.complaints:
        world.has_kept_homes = True
        deed.what += f" (kept: {home.root})"
    else:
        shutil.rmtree(home.root.parent)
    return Trial(name, seed, deed.what, deed.took_effect, tuple(deed.complaints), time.perf_counter() - started)


def campaign(
    world: World,
    names: Sequence[str],
    seed: int,
    *,
    enough: Callable[[int], bool],
    tell: Callable[[Trial], None] = lambda trial: None,
) -> Tally:
    """Try faults in turn, each round with the next seed, until there are `enough` rounds."""
    tally, number = Tally(), 0
    while not enough(number) and len(tally.cannot) < len(names):
        for name in names:
            if name in tally.cannot or enough(number) or (number and name in ROWS):
                continue
            try:
                trial = attempt(world, name, seed + number)
            except CannotTryError as reason:
                tally.cannot[name] = str(reason)
                continue
            tally.trials.append(trial)
            tell(trial)
        number += 1
    return tally


def demo_of(world: World) -> World:
    """Return the world of the demo that goes with a world: it is made when it is first asked for."""
    if "demo" not in world.others:
        folder = world.folder / "demo"
        folder.mkdir()
        world.others["demo"] = DemoWorld(folder)
    return world.others["demo"]


@contextmanager
def a_world() -> Iterator[World]:
    """Give a world in a folder of its own, which is removed unless homes were kept in it."""
    folder = Path(tempfile.mkdtemp(prefix="dat-faults-"))
    world = World(folder)
    try:
        yield world
    finally:
        world.end_all()
        if not any(one.has_kept_homes for one in (world, *world.others.values())):
            shutil.rmtree(folder)
