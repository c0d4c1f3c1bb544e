"""The digest of a file's bytes."""

import errno
import hashlib
import os
import stat
from io import FileIO
from pathlib import Path

_CHUNK = 2**20


def file_digest(path: Path | str) -> str:
    """Return the sha256 of a file's bytes; an `OSError` for what is no file."""
    digest = hashlib.sha256()
    with opened(path) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def opened(path: Path | str) -> FileIO:
    """Open a file to read it; an `OSError` for a pipe, which would be waited for, and a device, which never ends."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a file", str(path))
    return FileIO(descriptor)
