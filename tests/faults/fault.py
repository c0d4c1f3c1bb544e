"""What a fault is, and what is told of one that was tried."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from data_catalog.home import Home
from tests.faults.world import Ran, World, committed


class CannotTryError(Exception):
    """This machine does not let the fault be made, for the reason given."""


@dataclass
class Deed:
    """What was done to a home, whether that met a run, and what went wrong already."""

    what: str = ""
    took_effect: bool = False
    complaints: list[str] = field(default_factory=list)
    kept: dict[tuple[str, str], str] = field(default_factory=dict)
    """The artifacts that must outlive it."""
    must_be_back: dict[tuple[str, str], str] = field(default_factory=dict)
    """The artifacts that must be there again after the rerun, with the same content."""

    def keep(self, home: Home) -> None:
        """Note what is committed now."""
        self.kept.update(committed(home))

    def must_end(self, ran: Ran, *codes: int) -> None:
        """Complain unless a command has ended with one of these codes and without a stack trace."""
        self.complaints += ran.complaints(*codes)


Fault: TypeAlias = Callable[[World, Random, Home, Deed], AbstractContextManager[None]]
"""Does something to a home and tells it in the deed; while the context lasts, the judge looks. The home is fresh."""


def begin(world: World, chance: Random, home: Home) -> str:
    """Have nothing, about half or everything computed in a fresh home before the fault comes; say which."""
    start = chance.choice(("nothing", "nothing", "half"))
    if start == "half":
        world.fill(home, half=True)
    return f"with {start} done before"
