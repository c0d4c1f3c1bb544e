"""The temporary folder of worker processes, which is removed although the workers, or their parent, may be killed.

Workers hand tensors over through sockets, and `multiprocessing` makes a folder for the sockets of each process. A
worker that is ended or killed would leave that folder behind, so the workers of a process share one, which their parent
removes.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import current_process
from pathlib import Path

_NAME = "dat-{process}-"
"""Short: the path of a socket may have about a hundred characters."""


@contextmanager
def worker_folder() -> Iterator[str]:
    """Give a folder for the sockets of this process's workers; those of processes that were killed are removed."""
    _remove_those_of_the_dead()
    folder = tempfile.mkdtemp(prefix=_NAME.format(process=os.getpid()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def use_folder(folder: str) -> None:
    """Have `multiprocessing` put the sockets of this process, a worker, into a folder."""
    current_process()._config["tempdir"] = folder  # type: ignore[attr-defined]


def _remove_those_of_the_dead() -> None:
    for path in Path(tempfile.gettempdir()).glob(_NAME.format(process="*") + "*"):
        process = path.name.split("-")[1]
        with suppress(OSError):
            if process.isdecimal() and path.lstat().st_uid == os.getuid() and not _is_alive(int(process)):
                shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True
