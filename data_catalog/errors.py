"""Errors that a person can mend."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_GONE = {errno.ENOENT, errno.ESTALE, errno.ENOTCONN, errno.EIO}
_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP}


class UserError(Exception):
    """Something the user can mend: what is wrong, where it is, and the command or edit that helps."""

    def __init__(self, problem: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.where}: {self.problem}" if self.where else self.problem
        return f"{text}\n  {self.remedy}" if self.remedy else text


class FailureError(UserError):
    """A command that made sense had begun and something failed; what was finished is kept.

    Damaged files, machines that refuse and questions that go over their limits are failures. A plain `UserError` is a
    refusal: the command never began, and nothing was changed.
    """


class StoreError(FailureError):
    """The place where state lives cannot take or give it: full disk, no permission, no such folder."""


class DamagedError(FailureError):
    """A file of the store is not what its manifest says: `step` and `key` name the artifact."""

    def __init__(self, problem: str, *, step: str, key: str, where: str) -> None:
        super().__init__(problem, where=where, remedy="`dat verify` sets damaged files aside; `dat run` heals")
        self.step = step
        self.key = key


@contextmanager
def begun() -> Iterator[None]:
    """Turn refusals into failures, where a command has begun already."""
    try:
        yield
    except FailureError:
        raise
    except UserError as error:
        raise FailureError(error.problem, where=error.where, remedy=error.remedy) from error


@contextmanager
def explained(where: Path, refused: str = "cannot be written") -> Iterator[None]:
    """Turn the system's refusals into a `StoreError` that a person can act on."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            remedy = "free some space (`dat gc --scope superseded` helps) and run again: finished work is kept"
        elif error.errno in _GONE:
            remedy = "bring the folder back and run again (finished work is kept), or set DAT_HOME to another folder"
        elif error.errno in _NO_LOCKS:
            remedy = "set DAT_HOME to a folder on a file system that offers advisory locks"
        else:
            remedy = "check the folder's owner and permissions, or set DAT_HOME to another folder"
        why = os.strerror(error.errno) if error.errno else str(error)
        raise StoreError(f"{refused}: {why}", where=str(where), remedy=remedy) from error
