"""What `dat run` and `dat plan` remember between commands: code versions, and answers that still stand."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from data_catalog.home import Home
from data_catalog.planning.code_memory import CodeMemory
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.stamps import Stamps, clock
from flows.cli.terminal.output import copied, note
from flows.cli.terminal.progress import LiveReading
from flows.cli.unchanged import question
from flows.request import Request, Requested, resolve


class Memory:
    """Keeps what a command says when there is nothing to do, for the next time (`flows.cli.unchanged`)."""

    def __init__(self, home: Home) -> None:
        self.sources = CodeMemory(home.root / "code.json")
        self.code = CodeVersions(memory=self.sources)
        self._home = home
        self._began = clock(str(home.root))
        self._remarks = ""

    def resolved(self, request: Request) -> Requested:
        """Return the cells that are asked for, after saying what is left out."""
        with LiveReading() as live:
            requested = resolve(request, self._home, live)
        with self.remarks():
            for remark in requested.left_out:
                note(remark)
        return requested

    @contextmanager
    def remarks(self) -> Iterator[None]:
        """Keep what is said on standard error meanwhile, as a part of the answer."""
        with copied("stderr") as told:
            yield
        self._remarks += told.text

    def keep(self, requested: Requested, printed: str, run_id: str = "") -> None:
        """Keep what was said: everything is up to date."""
        inputs = [str(path) for path in requested.inputs | self.code.places()]
        answer: dict[str, object] = {"printed": printed, "remarks": self._remarks, "run_id": run_id}
        Stamps(str(self._home.root)).keep(question(sys.argv[1:]), answer, inputs, self._began, run_id)
