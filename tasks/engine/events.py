"""Who is told, in this process, what a run is doing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from data_catalog.planning.cell import Cell
from data_catalog.store.manifest import Manifest

FAILED = ("failed", "blocked")


@dataclass(frozen=True)
class CellOutcome:
    """What came of one cell: computed, adopted, up to date, reproduced, drifted, not applicable, failed or
    blocked; `error` says why the last three are."""

    cell: Cell
    action: str
    outcome: str
    reason: str
    key: str | None = None
    seconds: float = 0.0
    error: str = ""
    drift: Mapping[str, Any] = field(default_factory=dict)
    """How a forced rerun differs from what is stored."""
    draft: Manifest | None = None
    """What a drifted rerun has made: not committed, but the input of what is rerun after it."""

    @property
    def failed(self) -> bool:
        """Whether there is no artifact."""
        return self.outcome in FAILED


class Watcher(Protocol):
    """Is told of cells as they begin, get on and end. Calls may come from several threads."""

    def started(self, cell: Cell) -> None:
        """Be told that a cell is being computed."""

    def progressed(self, cell: Cell, done: int, total: int, failed: int) -> None:
        """Be told how far a cell is, and how much of it failed, in the step's own unit."""

    def settled(self, outcome: CellOutcome) -> None:
        """Be told what came of a cell."""


class Silence:
    """A watcher that does nothing."""

    def started(self, cell: Cell) -> None:
        """Ignore it."""

    def progressed(self, cell: Cell, done: int, total: int, failed: int) -> None:
        """Ignore it."""

    def settled(self, outcome: CellOutcome) -> None:
        """Ignore it."""


_watchers: dict[str, Watcher] = {}


@contextmanager
def watching(run_id: str, watcher: Watcher) -> Iterator[None]:
    """Have `watcher` told of what this process does for a run. Other processes' work it learns when that is done."""
    _watchers[run_id] = watcher
    try:
        yield
    finally:
        del _watchers[run_id]


def watcher_of(run_id: str) -> Watcher | None:
    """Return the watcher of a run that this process conducts, None in any other process."""
    return _watchers.get(run_id)
