"""What was read from source files, remembered while a file stays as it is: to parse them all is much of a plan's time.

As in git's index, a file is known by its size, times and inode, and one that changed a moment ago is not remembered: a
second change in the same tick of the clock would go unnoticed. The memory may be lost or deleted at any time.
"""

import json
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from data_catalog.canonical import digest_text
from data_catalog.errors import StoreError
from data_catalog.planning import code_version
from data_catalog.planning.code_version import Import, Module
from data_catalog.store.artifacts import write_atomically

_AT_REST = 2 * 10**9


class CodeMemory:
    """Modules by the path of their source, kept in one JSON file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at = time.time_ns()
        self._known = self._load()
        self._fresh = False

    def find(self, source: Path) -> Module | None:
        """Return what the source file says if it is as it was, None when it must be read."""
        entry = self._known.get(str(source))
        if entry is None or entry["stamps"] != _stamps(source):
            return None
        imports = tuple(
            Import(module, tuple((name, as_name) for name, as_name in names), bound)
            for module, names, bound in entry["imports"]
        )
        return Module(entry["digest"], entry["runs"], imports, entry["lazy_exports"])

    def keep(self, source: Path, module: Module) -> None:
        """Remember what a source file says."""
        stamps = _stamps(source)
        if any(stamp and max(stamp[1:3]) > self._read_at - _AT_REST for stamp in stamps):
            return
        self._known[str(source)] = {
            "stamps": stamps,
            "digest": module.digest,
            "runs": module.runs,
            "imports": [[one.module, one.names, one.bound] for one in module.imports],
            "lazy_exports": module.lazy_exports,
        }
        self._fresh = True

    def save(self) -> None:
        """Write the memory if there is anything new; where it cannot be written, there is none."""
        if self._fresh and self._path.parent.is_dir():
            text = json.dumps({"recipe": _recipe(), "modules": self._known})
            with suppress(StoreError):
                write_atomically(self._path, f"{digest_text(text)}\n{text}")
            self._fresh = False

    def _load(self) -> dict[str, Any]:
        with suppress(OSError, ValueError, TypeError, KeyError):
            digest, _, text = self._path.read_text(encoding="utf-8").partition("\n")
            data = json.loads(text)
            if digest == digest_text(text) and data["recipe"] == _recipe():
                return dict(data["modules"])
        return {}


def _stamps(source: Path) -> list[list[int] | None]:
    """Return the stamps of a source file and of the stub beside it, if there is one."""
    return [_stamp(source), _stamp(source.with_suffix(".pyi"))]


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


@cache
def _recipe() -> str:
    """Return the version of what is remembered: how sources are read, and by which Python."""
    return digest_text(sys.version + Path(code_version.__file__).read_text(encoding="utf-8"))
