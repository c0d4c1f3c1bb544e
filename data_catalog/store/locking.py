"""Locks between processes. They are advisory, and free themselves when their holder dies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from data_catalog.errors import StoreError, explained


@contextmanager
def lock(path: Path, *, wait: float = -1) -> Iterator[None]:
    """Hold the lock file at `path`, whose folder is there; after `wait` seconds (-1: never) `Timeout` is raised.

    The file is removed by its holder, before the lock is let go, and by nobody else. A waiter who then gets the removed
    file notices that another one, or none, has its name, and tries again.
    """
    got: list[os.stat_result] = []
    # Without locks of its own, a file system would be given files in their place, which outlive a holder that dies.
    holder = FileLock(path, timeout=wait, fallback_to_soft=False, on_acquired=lambda file: got.append(os.fstat(file)))
    try:
        while not got or not _has_name(got[-1], path):  # on NFS, a removed file that is open still has a name
            holder.release()
            path.parent.stat()  # `acquire` would make the folder, and with it a home in the place of one that went away
            holder.acquire()
    except Timeout:
        raise
    except OSError:
        with explained(path, "cannot be locked"):
            raise
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        holder.release()


def _has_name(file: os.stat_result, path: Path) -> bool:
    try:
        return os.path.samestat(file, path.stat())
    except FileNotFoundError:
        return False


def held(path: Path) -> bool:
    """Whether a living process holds the lock file at `path`; a dead one's file is removed."""
    if not path.exists():
        return False
    try:
        with lock(path, wait=0):
            return False
    except Timeout:
        return True


def sweep(folder: Path) -> None:
    """Remove the lock files that dead processes left in `folder` and below."""
    for path in folder.rglob("*.lock"):
        with suppress(StoreError):
            held(path)
