"""Processes to kill and to race, started warm: each is forked from one that has imported everything and run nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from data_catalog.home import Home
from tests.data_catalog import worlds
from tests.warm_processes import warm_processes


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Where processes are started: `processes.Process(target=..., args=...)`, with targets of `worlds`."""
    return warm_processes()


@dataclass(frozen=True)
class Started:
    """A process and the pipe to it."""

    process: BaseProcess
    pipe: Connection

    def told(self) -> Any:
        """Return the next thing the process tells; an `EOFError` when it ends without a word."""
        return self.pipe.recv()

    def kill(self) -> None:
        """Kill it and wait until it is dead."""
        self.process.kill()
        self.process.join()


@pytest.fixture
def start(processes: ForkServerContext) -> Iterator[Callable[..., Started]]:
    """Start a process: the target gets the arguments, then the other end of the pipe. It dies with the test."""
    started = []

    def begin(target: Callable[..., None], *arguments: object) -> Started:
        here, there = processes.Pipe()
        process = processes.Process(target=target, args=(*arguments, there), daemon=True)
        process.start()
        there.close()
        started.append(Started(process, here))
        return started[-1]

    yield begin
    for one in started:
        one.kill()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The home of a finished run of seven cells, to be copied and never changed."""
    home = Home(tmp_path_factory.mktemp("finished") / "home")
    worlds.run(home, worlds.tiny_pipeline(home))
    return home
