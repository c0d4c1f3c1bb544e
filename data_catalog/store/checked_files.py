"""Checks of data files by digest, remembered while a file keeps its size, times and inode, for a day at most."""

import json
import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from data_catalog.canonical import digest_text
from data_catalog.errors import StoreError
from data_catalog.store.artifacts import write_atomically
from data_catalog.store.file_digest import file_digest

DAY = 24 * 3600
"""Seconds after which a file is read again although it seems unchanged: disks forget, too."""
_AT_REST = 2.0
"""Seconds that a file must have been left alone for a check to be remembered: longer than any clock's tick."""

Stamp: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True)
class CheckedFiles:
    """Checks kept in one small file of `DAT_HOME`, which may be lost at any time. Only sound files are remembered."""

    root: Path

    @property
    def memory(self) -> Path:
        """The file that remembers; the first line is a digest of the rest."""
        return self.root / "checked.json"

    def problems(self, files: Mapping[str, str]) -> dict[str, str]:
        """Check {path relative to `root`: sha256}; return {path: what is wrong} of those that are gone or changed."""
        stamps = {path: self._stamp(path) for path in files}
        found = {path: "is gone" for path, stamp in stamps.items() if stamp is None}
        known, now = self._known(), time.time()
        waiting = [
            (path, stamp)
            for path, stamp in stamps.items()
            if stamp is not None and not _holds(known.get(path), stamp, files[path], now)
        ]
        if waiting:
            # Large files first, so that no thread is left alone with one at the end.
            waiting.sort(key=lambda one: -one[1][0])
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                problems = list(pool.map(lambda one: self._problem(one[0], files[one[0]]), waiting))
            for (path, stamp), problem in zip(waiting, problems, strict=True):
                if problem:
                    found[path] = problem
                elif max(stamp[1], stamp[2]) < (now - _AT_REST) * 1e9 and self._stamp(path) == stamp:
                    known[path] = [*stamp, files[path], now]
                else:
                    known.pop(path, None)
            self._keep({path: entry for path, entry in known.items() if path in stamps or (self.root / path).exists()})
        return found

    def _stamp(self, path: str) -> Stamp | None:
        try:
            status = (self.root / path).stat()
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino

    def _problem(self, path: str, expected: str) -> str:
        try:
            found = file_digest(self.root / path)
        except OSError as error:
            return f"cannot be read ({error.strerror or error})"
        return "" if found == expected else "has changed since it was published"

    def _known(self) -> dict[str, list[object]]:
        with suppress(OSError, ValueError, RecursionError):
            digest, _, text = self.memory.read_text(encoding="utf-8").partition("\n")
            if digest == digest_text(text):
                known: dict[str, list[object]] = json.loads(text)
                return known
        return {}

    def _keep(self, known: Mapping[str, Iterable[object]]) -> None:
        """Remember; a home that cannot be written remembers nothing."""
        text = json.dumps(known)
        with suppress(StoreError, OSError):
            write_atomically(self.memory, f"{digest_text(text)}\n{text}")


def _holds(entry: object, stamp: Stamp, expected: str, now: float) -> bool:
    """Whether a check that is remembered still holds; one from the future, by a clock set back, does not."""
    if not isinstance(entry, list) or entry[:-1] != [*stamp, expected]:
        return False
    return isinstance(entry[-1], float) and now - DAY < entry[-1] <= now
