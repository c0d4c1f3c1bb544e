"""Work in DuckDB that can be stopped from outside: by Ctrl-C, by a signal's handler that raises, or by a time limit.

While DuckDB computes, Python runs no signal handlers in the thread that called it. So the work is done in a thread of
its own, and the caller's thread only waits, which signals do interrupt.
"""

import atexit
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from data_catalog.index.question_limits import out_of_time

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

_GRACE = 0.5
"""Seconds that stopped work gets to end and close what it opened. A long call of native code may not notice at all."""
_LAST_GRACE = 10.0
"""Seconds that the end of a Python process waits for such work: a thread that is torn out of native code aborts it."""
_abandoned: list[threading.Thread] = []


class StoppedError(Exception):
    """Raised inside work that was told to stop."""


class Work(Generic[T]):
    """One piece of work for `finished`: it is given this object, names its connection here and looks in between."""

    def __init__(self, do: "Callable[[Work[T]], T]") -> None:
        self._do = do
        self._ended, self._stopped = threading.Event(), threading.Event()
        self._connection: DuckDBPyConnection | None = None
        self._result: T
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="dat question", daemon=True)

    def uses(self, connection: "DuckDBPyConnection") -> None:
        """Name the connection that is computing from now on."""
        self._connection = connection
        self.go_on()

    def go_on(self) -> None:
        """Raise `StoppedError` where the work was told to stop."""
        if self._stopped.is_set():
            raise StoppedError

    def finished(self, seconds: float | None = None) -> T:
        """Do the work and return its result; whatever interrupts the wait stops the work and is passed on.

        Work that takes longer than `seconds` is stopped too, with a `LimitError`.
        """
        self.thread.start()
        try:
            in_time = self._ended.wait(seconds)
        except BaseException:
            self._stop()
            raise
        if not in_time:
            self._stop()
            assert seconds is not None
            raise out_of_time(seconds)
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._do(self)
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()

    def _stop(self) -> None:
        """Tell the work to stop and wait a moment for that; a second interruption ends the wait."""
        self._stopped.set()
        _abandoned.append(self.thread)
        patience = time.monotonic() + _GRACE
        # Work of many statements may be between two of them, where an interruption is lost: hence again and again.
        while time.monotonic() < patience and not self._ended.is_set():
            if self._connection is not None:
                with suppress(Exception):  # it may be closed just now
                    self._connection.interrupt()
            self._ended.wait(0.02)
        if self._ended.is_set():
            _abandoned.remove(self.thread)

    @property
    def abandoned(self) -> bool:
        """Whether the work was told to stop and has not ended yet."""
        return self._stopped.is_set() and not self._ended.is_set()


def any_abandoned() -> bool:
    """Whether stopped work is still computing; then only `os._exit` ends the process at once."""
    return any(thread.is_alive() for thread in _abandoned)


@atexit.register
def _await_abandoned() -> None:
    patience = time.monotonic() + _LAST_GRACE
    for thread in _abandoned:
        thread.join(max(0.0, patience - time.monotonic()))
