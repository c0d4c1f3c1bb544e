"""What a kind of hostile input is: a valid world, a way to harm it, and the commands that read it."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from tests.hostile import mutating
from tests.hostile.watching import Ran, World, dat

Words = tuple[str, ...]


class Kind:
    """One kind of input."""

    name: ClassVar[str]
    limit: ClassVar[float] = 60
    """Seconds that one command may take, on a busy machine."""

    def prepare(self, world: World) -> None:
        """Write a valid world, from which every case starts."""

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm a copy of it."""

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Yield commands that read what was harmed."""
        raise NotImplementedError

    def judge(self, world: World, ran: Ran) -> Iterator[str]:
        """Yield what is wrong besides what is wrong for every command."""
        yield from ()

    def case(self, template: World, folder: Path, seed: int) -> list[Ran]:
        """Harm a copy of the template and run the commands; the same seed does the same again."""
        chance = random.Random(f"{self.name} {seed}")
        shutil.copytree(template.folder, folder, symlinks=True)
        world = World(folder)
        try:
            self.harm(world, chance)
            done = []
            for words in self.commands(world, chance):
                ran = self.run(world, words)
                more = tuple(self.judge(world, ran)) if not ran.faults else ()
                done.append(Ran(ran.words, ran.code, ran.out, ran.err, ran.faults + more))
            return done
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def run(self, world: World, words: Words) -> Ran:
        """Run one command."""
        return dat(world, *words, limit=self.limit)


def write_specs(world: World, specs: dict[str, str]) -> None:
    """Write specs into the current folder of a world."""
    for name, text in specs.items():
        path = world.work / "specs" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def harm_file(path: Path, chance: random.Random, change: Callable[[str, random.Random], bytes], world: World) -> None:
    """Change what is in a text file, or put something else in its place."""
    if chance.random() < 0.12:
        mutating.displace(path, chance, world.folder / "outside.txt")
    else:
        path.write_bytes(change(path.read_text(), chance))
