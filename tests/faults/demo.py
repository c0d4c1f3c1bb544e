"""The whole demo by its real command, with images, a model, Prefect and its temporary server, killed at any moment."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from data_catalog.home import Home
from tests.faults.fault import Deed
from tests.faults.world import Started, World, nothing, temporary_of

_DAT = Path(sys.executable).with_name("dat")


@dataclass
class DemoWorld(World):
    """A world of the demo's cells, in which commands are processes of their own."""

    suite: str = "demo"

    def fresh_home(self, name: str = "") -> Home:
        """Return a home in which nothing has been computed."""
        self._count += 1
        return Home(self.folder / f"{self._count:05d}-{name}" / "home")

    def start(self, home: Home, *words: str, first: Callable[[], object] = nothing) -> Started:
        """Start a command."""
        output = Path(tempfile.mkdtemp(prefix="output-", dir=self.folder))
        temporary = temporary_of(home)
        temporary.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DAT_", "PREFECT_"))}
        with (output / "out").open("w") as out, (output / "err").open("w") as err:
            process = subprocess.Popen(
                [_DAT, *words],
                env={**kept, "DAT_HOME": str(home.root), "TMPDIR": str(temporary)},
                cwd=output,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        started = Started(Command(process), output)
        self._running.append(started)
        return started


@dataclass
class Command:
    """A command with the manners of a forked process."""

    process: subprocess.Popen[bytes]
    with_helpers: bool = False
    """Whether the processes that it has started are killed with it."""

    @property
    def exitcode(self) -> int | None:
        """How it ended, if it has."""
        return self.process.poll()

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.exitcode is None

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, or for a time."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout)

    def kill(self) -> None:
        """Kill it, or it and what it has started."""
        if self.with_helpers:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()


@contextmanager
def killed_demo(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Kill the demo once or twice, at moments anywhere in the time that it takes."""
    for _ in range(chance.choice((1, 1, 2))):
        moment = chance.uniform(0, world.seconds)
        started, deadline = world.start(home, *world.words), time.perf_counter() + moment
        assert isinstance(started.process, Command)
        started.process.with_helpers = chance.random() < 0.5
        while time.perf_counter() < deadline and not started.ended():
            time.sleep(0.01)
        ran = started.kill()
        deed.must_end(ran, 0, -signal.SIGKILL)
        deed.took_effect |= ran.code == -signal.SIGKILL
        deed.keep(home)
        deed.what += f"killed after {moment:.1f} of {world.seconds:.1f} s, {len(deed.kept)} kept; "
    yield
