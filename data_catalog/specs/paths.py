"""Paths as people write them."""

import os
from pathlib import Path


def expanded(path: str | Path, base: Path | None = None) -> Path:
    """Return the absolute path that is meant: `~` is the user's home folder.

    A relative path starts from `base`, or from the current folder where none is given. Links are not followed, and
    `~name` is left as it is where there is no such user.
    """
    return Path(base or ".").absolute() / os.path.expanduser(path)  # noqa: PTH111 (the other raises)
