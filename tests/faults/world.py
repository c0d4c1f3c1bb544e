"""The world that faults are let loose on: a small suite, the `dat` command on it, and what an undisturbed run gives.

Commands are run by processes forked from one that has imported everything and run nothing, so that a fault costs the
work it disturbs and not the start of Python. What is forked is the command line itself, from words to exit code.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.store.artifacts import Store
from tests.faults.reading import Reader, read_until
from tests.warm_processes import warm_processes

LONG = 240
"""Seconds after which a process that has not ended is said to hang."""

_DATASET = """
prompts = "simbirds"
[source]
kind = "simulated"
settings = { seed = 7, dim = 16, train = 400, val = 20, test = 120 }
"""
_METHODS = ("zero_shot", "group_prompt", "tie", "dat", "dat_star")
_SUITE = f"""
title = "Something small to be disturbed"
[[grid]]
datasets = ["tiny"]
backbones = ["simclip"]
methods = {json.dumps(_METHODS)}
"""
OF_THE_MACHINE = ("cannot be written", "cannot be locked", "free some space", "bring the folder back")
"""Words of errors that are no fault of the command."""
_SETTINGS = {"DAT_RUNNER": "inline", "DAT_REPORT": "false", "PYTHONDONTWRITEBYTECODE": "1"}


def nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Ran:
    """A command that has ended; `code` is negative for one that was killed, None for one that hung."""

    code: int | None
    out: str
    err: str

    def outcomes(self) -> dict[str, int]:
        """Return how many cells came out how, as `--json` says it."""
        found: dict[str, int] = json.loads(self.out)["outcomes"]
        return found

    def complaints(self, *codes: int) -> list[str]:
        """Return what is wrong with the way it ended: another exit code than these, a wrong one, or a stack trace.

        Of a command that was killed, processes that helped it may still complain.
        """
        if self.code is None:
            return [f"it hung: {self.err[-2000:]}"]
        if self.code == -signal.SIGKILL and self.code in codes:
            return []
        found = [] if self.code in codes else [f"exit code {self.code}: {self.out[-1000:]}{self.err[-2000:]}"]
        if self.code == 2 and any(words in self.err for words in OF_THE_MACHINE):
            found.append(f"the machine refused, which is exit code 1 and not 2: {self.err[-2000:]}")
        return [*found, f"a stack trace: {self.err[-3000:]}"] if "Traceback" in self.out + self.err else found


class Process(Protocol):
    """What is asked of a process; those of `multiprocessing` have it."""

    @property
    def exitcode(self) -> int | None:
        """How it ended, if it has."""

    def is_alive(self) -> bool:
        """Whether it has not ended."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, or for a time."""

    def kill(self) -> None:
        """Kill it."""


@dataclass
class Started:
    """A command under way."""

    process: Process
    output: Path

    def kill(self) -> Ran:
        """Kill it where it is, unless it has ended: its number may then be another's."""
        if not self.ended():
            self.process.kill()
        return self.wait()

    def ended(self) -> bool:
        """Whether it has ended."""
        return not self.process.is_alive()

    def wait(self) -> Ran:
        """Wait for its end."""
        self.process.join(LONG)
        code = self.process.exitcode
        if code is None:
            self.process.kill()
            self.process.join()
        return Ran(code, *((self.output / name).read_text(errors="replace") for name in ("out", "err")))


@dataclass
class World:
    """Homes below one folder, and the means to disturb them."""

    folder: Path
    suite: str = "small"
    many: int = 30
    """How many runs are a long row of them."""
    seconds: float = 0.0
    """How long an undisturbed run takes here; known when the world is prepared."""
    input_memory: int = 1024
    """`DAT_INPUT_MEMORY` of the commands: with 0, steps take their inputs in parts."""
    pause: float = 0.2
    """Seconds between a reader's questions."""
    questions: int = 0
    """Answered by readers so far."""
    has_kept_homes: bool = False
    """Whether a home was left for a person to look into."""
    others: dict[str, "World"] = field(default_factory=dict)
    """Worlds of other suites, by their names."""
    _count: int = 0
    _running: list[Started] = field(default_factory=list)

    @property
    def words(self) -> tuple[str, ...]:
        """The command that is disturbed."""
        return ("run", self.suite, "--json")

    def fresh_home(self, name: str = "") -> Home:
        """Return a home in which nothing has been computed."""
        self._count += 1
        home = Home(self.folder / f"{self._count:05d}-{name}" / "home")
        for place, text in (("datasets/tiny", _DATASET), ("suites/small", _SUITE)):
            path = home.specs / f"{place}.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return home

    def prepare(self) -> None:
        """Have all that faults are measured by; an error where not even an undisturbed run works."""
        _ = self.expected, self.results

    def fill(self, home: Home, *, half: bool = False) -> None:
        """Make a fresh home one in which all, or about half, has been computed."""
        shutil.copytree((self.half_done if half else self.undisturbed).root, home.root, dirs_exist_ok=True)

    @cached_property
    def undisturbed(self) -> Home:
        """The home of a run that nothing has disturbed; it is never changed."""
        home, started = self.fresh_home("undisturbed"), time.perf_counter()
        self._must(self.dat(home, *self.words))
        self.seconds = time.perf_counter() - started
        return home

    @cached_property
    def half_done(self) -> Home:
        """The home of a run of two methods; it is never changed."""
        home = self.fresh_home("half-done")
        self._must(self.dat(home, *self.words, "--method", "zero_shot", "--method", "dat"))
        return home

    @cached_property
    def expected(self) -> dict[str, str]:
        """{cell: content} after an undisturbed run."""
        return current(self.undisturbed)

    @cached_property
    def results(self) -> list[tuple[Any, ...]]:
        """The results of an undisturbed run."""
        return results(self.undisturbed)

    def dat(self, home: Home, *words: str, first: Callable[[], object] = nothing) -> Ran:
        """Run a command to its end; `first` is done in its process before it begins."""
        return self.start(home, *words, first=first).wait()

    def start(self, home: Home, *words: str, first: Callable[[], object] = nothing) -> Started:
        """Start a command."""
        output = Path(tempfile.mkdtemp(prefix="output-", dir=self.folder))
        for name in ("out", "err"):
            (output / name).touch()
        process = warm_processes().Process(
            target=_command, args=(home, words, first, output, self.input_memory), daemon=True
        )
        process.start()
        started = Started(process, output)
        self._running.append(started)
        return started

    @contextmanager
    def reader(self, home: Home) -> Iterator[Reader]:
        """Have somebody ask questions about a home all the time."""
        context = warm_processes()
        stop, (here, there) = context.Event(), context.Pipe()
        process = context.Process(target=read_until, args=(stop, home, self.pause, there), daemon=True)
        process.start()
        there.close()
        reader = Reader()
        try:
            yield reader
        finally:
            stop.set()
            try:
                reader.asked, reader.complaints = here.recv() if here.poll(LONG) else (0, ["the reader hung"])
            except EOFError:
                reader.complaints = ["the reader died"]
            if process.is_alive():
                process.kill()
            process.join()
            self.questions += reader.asked

    def end_all(self) -> None:
        """End every command that is still under way."""
        for started in self._running:
            if not started.ended():
                started.kill()
        self._running.clear()

    def _must(self, ran: Ran) -> None:
        if complaints := ran.complaints(0):
            raise RuntimeError(f"an undisturbed run failed: {complaints[0]}")


def _command(home: Home, words: tuple[str, ...], first: Callable[[], object], output: Path, input_memory: int) -> None:
    """Be the `dat` command: what a process does that was forked for it."""
    for name, number in (("out", 1), ("err", 2)):
        descriptor = os.open(output / name, os.O_WRONLY | os.O_APPEND)
        os.dup2(descriptor, number)
    take_part(home, words)
    use_temporary(temporary_of(home))
    os.environ["DAT_INPUT_MEMORY"] = str(input_memory)
    from flows.cli import main

    first()
    main()


def temporary_of(home: Home) -> Path:
    """Return where the commands on a home put temporary files."""
    return home.root.with_name("t")


def use_temporary(folder: Path) -> None:
    """Have this process put temporary files into a folder."""
    folder.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def take_part(home: Home, words: tuple[str, ...]) -> None:
    """Have this process see the words and the environment of a command."""
    for name in [name for name in os.environ if name.startswith(("DAT_", "PREFECT_"))]:
        del os.environ[name]
    os.environ.update(_SETTINGS, DAT_HOME=str(home.root))
    os.chdir(home.root.parent)
    sys.argv = ["dat", *words]


def wait_for_share(world: World, home: Home, started: Started, share: float) -> None:
    """Wait until a run has committed a share of the cells that were missing when it began, or has ended."""
    before = sum(1 for _ in Store(home).listing())
    enough = before + share * (len(world.expected) - before)
    while sum(1 for _ in Store(home).listing()) < enough and not started.ended():
        time.sleep(0.002)


def committed(home: Home) -> dict[tuple[str, str], str]:
    """Return {(step, key): content} of all that is visible."""
    return {(manifest.step, manifest.key): manifest.content for manifest in Store(home).manifests()}


def current(home: Home) -> dict[str, str]:
    """Return {cell: content} of what each cell stands for now."""
    return dict(query(home, "SELECT cell, content FROM artifacts WHERE current").rows)


def results(home: Home) -> list[tuple[Any, ...]]:
    """Return the rows of `results` without times."""
    return query(home, "SELECT * EXCLUDE (created, run_id) FROM results ORDER BY ALL").rows
