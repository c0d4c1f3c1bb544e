"""Ending a command from outside: Ctrl-C, SIGTERM, and questions that do not notice either."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

INTERRUPTED = 130
_TERMINATED = 143


@contextmanager
def orderly_termination() -> Iterator[None]:
    """Have SIGTERM stop what is in here as Ctrl-C does, with exit code 143.

    By default it ends the process on the spot, and the files of a question that does not fit into memory stay behind.
    """

    def end(*_: object) -> None:
        raise SystemExit(_TERMINATED)

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def one_interruption() -> Iterator[None]:
    """Have the first Ctrl-C stop what is in here, and further ones change nothing.

    A second one would otherwise be raised amid the work of stopping. After an interruption the signal stays without
    effect, since the end of the command follows; whoever goes on restores what was set before.
    """

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, lambda *_: None)
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


def leave(code: int) -> None:
    """End the process. Where a stopped question is still computing, it does not get to hold that up."""
    # The command has ended: another Ctrl-C could only disturb the shutdown.
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    stopping = sys.modules.get("data_catalog.index.interruption")
    if stopping is not None and stopping.any_abandoned():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
