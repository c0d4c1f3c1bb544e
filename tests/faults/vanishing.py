"""A shared folder that goes away while a run is under way, and comes back."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from data_catalog.home import Home
from tests.faults.disk import mount
from tests.faults.fault import Deed, begin
from tests.faults.world import World, committed, wait_for_share


@contextmanager
def vanishing_folder(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Take the home away while a run is under way, and bring it back a little later or when the run has ended."""
    story = begin(world, chance, home)
    share, absence = chance.random(), chance.choice((0.001, 0.05, 0.5, 100.0))
    away = home.root.with_name("away")
    place = Unmounted(home.root, away) if os.geteuid() == 0 and chance.random() < 0.5 else Moved(home.root, away)
    place.begin()
    try:
        started = world.start(home, *world.words)
        wait_for_share(world, home, started, share)
        deed.took_effect = not started.ended()
        place.take_away()
        deed.kept.update(committed(Home(away)))
        back = time.perf_counter() + absence
        while time.perf_counter() < back and not started.ended():
            time.sleep(0.001)
        if made_up := place.made_up():
            deed.complaints.append(f"the run has made a home of its own where the folder was: {made_up[:8]}")
        place.bring_back()
        ran = started.wait()
        deed.must_end(ran, 0, 1, 2)
        deed.keep(home)
        how = f"{type(place).__name__.lower()} after {share:.0%} for {absence} s at most"
        deed.what = f"{story}, {how} ({ran.code}): {ran.err.strip()[:300]}"
        yield
    finally:
        place.end()


@dataclass(frozen=True)
class Moved:
    """A folder that is renamed."""

    root: Path
    away: Path

    def begin(self) -> None:
        """It is there."""

    def take_away(self) -> None:
        """Rename it."""
        self.root.rename(self.away)

    def made_up(self) -> list[str]:
        """Return what lies where it was, and move that out of the way."""
        if not self.root.exists():
            return []
        found = sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        self.root.rename(self.root.with_name("made up"))
        return ["", *found]

    def bring_back(self) -> None:
        """Give it its name again."""
        self.away.rename(self.root)

    def end(self) -> None:
        """Nothing is left to do."""


@dataclass(frozen=True)
class Unmounted(Moved):
    """A disk that is unmounted; the empty folder stays on which it was mounted."""

    def begin(self) -> None:
        """Mount it."""
        self.root.rename(self.away)
        self.root.mkdir()
        self.bring_back()

    def take_away(self) -> None:
        """Unmount it, whoever has files open on it."""
        subprocess.run(["umount", "--lazy", str(self.root)], check=True)

    def made_up(self) -> list[str]:
        """Return what was written onto the empty folder, without memories that may be lost at any time."""
        found = [path for path in self.root.rglob("*") if path.parent != self.root or path.suffix != ".json"]
        return sorted(str(path.relative_to(self.root)) for path in found)

    def bring_back(self) -> None:
        """Mount it again."""
        mount("--bind", self.away, self.root)

    def end(self) -> None:
        """Unmount it, if it is mounted."""
        subprocess.run(["umount", "--lazy", str(self.root)], capture_output=True)
