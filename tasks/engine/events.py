"""What happens in a run, and who listens to it in this process."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
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


class Listener(Protocol):
    """Hears of cells as they begin, get on and end. Calls may come from several threads."""

    def started(self, cell: Cell) -> None:
        """Hear that a cell is being computed."""

    def progressed(self, cell: Cell, done: int, total: int, failed: int) -> None:
        """Hear how far a cell is, and how much of it failed, in the step's own unit."""

    def settled(self, outcome: CellOutcome) -> None:
        """Hear what came of a cell."""


class Silence:
    """A listener that does nothing."""

    def started(self, cell: Cell) -> None:
        """Ignore it."""

    def progressed(self, cell: Cell, done: int, total: int, failed: int) -> None:
        """Ignore it."""

    def settled(self, outcome: CellOutcome) -> None:
        """Ignore it."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have `listener` hear of what this thread, and the threads that it starts by Prefect, do to cells."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def current_listener() -> Listener | None:
    """Return who listens here; None in another process, whose work is heard of when it is done."""
    return _listener.get()
