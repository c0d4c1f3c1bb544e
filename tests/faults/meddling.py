"""What makes a process see a slow folder or a clock that jumps: wrappers around what Python asks the system for."""

import datetime
import io
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from data_catalog.home import Home

_TOUCHES = ("open", "link", "replace", "rename", "stat", "unlink", "mkdir", "scandir", "fsync")


def slow_down(home: Home, slowest: float, seed: int) -> None:
    """Have everything that this process does with files take up to `slowest` seconds longer, at random."""
    chance = random.Random(seed)

    def late(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            if not arguments or isinstance(arguments[0], int) or str(arguments[0]).startswith(str(home.root)):
                time.sleep(chance.uniform(0, slowest))
            return function(*arguments, **more)

        return call

    for name in _TOUCHES:
        setattr(os, name, late(getattr(os, name)))
    io.open = late(io.open)  # which `Path.open` uses


def turn_back_clock(start: float, jumps: list[tuple[float, float]]) -> None:
    """Have this process begin at `start` and its clock jump: each of `jumps` is (after seconds, by seconds).

    Files that it makes visible carry the time of its clock, as they would if the machine's own had jumped.
    """
    real, began = time.time, time.time()

    def wrong() -> float:
        passed = real() - began
        return start + passed + sum(by for after, by in jumps if passed >= after)

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return datetime.datetime.fromtimestamp(wrong(), tz)

    time.time, time.time_ns = wrong, lambda: int(wrong() * 1e9)
    for module in list(sys.modules.values()):
        if vars(module).get("datetime") is datetime.datetime and module.__name__.startswith(("data_catalog", "tasks")):
            module.datetime = Clock  # type: ignore[attr-defined]
    for name in ("link", "replace"):
        setattr(os, name, _stamping(getattr(os, name), wrong))


def _stamping(function: Callable[..., Any], clock: Callable[[], float]) -> Callable[..., Any]:
    def call(source: Any, place: Any, **more: Any) -> Any:
        result = function(source, place, **more)
        os.utime(place, (clock(), clock()))
        return result

    return call
