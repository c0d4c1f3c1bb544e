"""Something else where `DAT_HOME` should be."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.kinds.kind import Kind, Words, write_specs
from tests.hostile.kinds.specs import SPECS
from tests.hostile.mutating import put_in_place
from tests.hostile.watching import Ran, World

_COMMANDS: tuple[Words, ...] = (
    ("run", "mine", "--method", "zero_shot"),
    ("plan", "mine"),
    ("report", "mine"),
    ("explain", "simbirds", "simclip", "a"),
    ("why", "zero_shot"),
    ("status",),
    ("status", "--json"),
    ("sql", "SELECT count(*) FROM results"),
    ("ls", "datasets"),
    ("validate",),
    ("import", "embeddings", ".", "--dataset", "a", "--backbone", "b"),
    ("verify",),
    ("gc", "--scope", "orphans", "--apply"),
    ("catalog", "rebuild"),
    ("doctor",),
)


class Homes(Kind):
    """A home that is a file, a pipe or a device: every command refuses it and leaves it as it is."""

    name = "homes"

    def prepare(self, world: World) -> None:
        """Specs, and no run."""
        write_specs(world, SPECS)

    def harm(self, world: World, chance: random.Random) -> None:
        """Put something else in the place of the home."""
        shutil.rmtree(world.home)
        what = chance.choice(("empty", "outside", "fifo", "zero", "text"))
        if what == "text":
            world.home.write_text("my thesis")
        else:
            put_in_place(world.home, what, world.folder / "outside.txt")
        self.before = _described(world.home)

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Any three commands."""
        yield from chance.sample(_COMMANDS, 3)

    def judge(self, world: World, ran: Ran) -> Iterator[str]:
        """It is refused and said why, and the file is as it was."""
        if ran.code != 2 or "is a file, not a folder" not in ran.err:
            yield f"exit code {ran.code} for a home that is no folder: {ran.err[:300]}"
        if _described(world.home) != self.before:
            yield "changed what is in the place of the home"


def _described(path: Path) -> tuple[int, int, int]:
    status = path.lstat()
    return status.st_mode, status.st_size, status.st_mtime_ns
