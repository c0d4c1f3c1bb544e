"""Knowing at a glance that nothing has changed since a command found everything up to date.

A plan reads specs, code, manifests and whatever the specs name, and looks for the files of artifacts. The signature is
one digest over names, sizes, times and inodes of all of these, and of more where that is simpler: as long as it stays
the same, so does the plan. What a command said when there was nothing to do is kept with the signature, as a stamp. A
stamp is a cache: it may be deleted at any time, and one that is damaged, or does not fit, counts for nothing.

Times tell a change only if it did not happen in the very tick in which the signature was taken, so a stamp is kept only
when all that it rests on had been at rest for a while when the plan began. This module is imported by commands that are
done in a tenth of a second: it imports next to nothing.
"""

import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator

_FORMAT = 1
_AT_REST = 2 * 10**9
"""Nanoseconds: longer than the ticks of any file system's clock."""
_MOST_KEPT = 100
_LONGEST = 300_000
"""Characters of a text that is worth keeping."""


class Stamps:
    """The stamps of one `DAT_HOME`, one for each question: what was asked, and all around it that shapes the answer."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._folder = os.path.join(home, "stamps")

    def find(self, question: object) -> dict[str, object] | None:
        """Return the answer to a question if nothing has changed since it was given, else None."""
        try:
            with open(self._path(question), encoding="utf-8") as stream:
                digest, _, text = stream.read().partition("\n")
            if digest != _digest(text):
                return None
            stamp = json.loads(text)
            if stamp["format"] != _FORMAT or stamp["question"] != question:
                return None
            if Signature(self._home, stamp["inputs"]).digest != stamp["signature"]:
                return None
            answer: dict[str, object] = stamp["answer"]
            return answer
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep(self, question: object, answer: dict[str, object], inputs: Iterable[str], began: int, run: str) -> bool:
        """Keep an answer, unless something it rests on has changed of late. A home that cannot be written keeps none.

        `began` is when the plan began (`clock`), `inputs` are files and folders beside `DAT_HOME` that it rests on, and
        `run` is the run whose record was written meanwhile, if any.
        """
        try:
            signature = Signature(self._home, inputs, run)
            text = json.dumps(
                {
                    "format": _FORMAT,
                    "question": question,
                    "inputs": sorted(inputs),
                    "signature": signature.digest,
                    "answer": answer,
                }
            )
            if signature.newest > began - _AT_REST or len(text) > _LONGEST:
                return False
            os.makedirs(self._folder, exist_ok=True)
            self._make_room()
            draft = os.path.join(self._folder, f".{os.getpid()}.{os.urandom(4).hex()}")
            with open(draft, "x", encoding="utf-8") as stream:
                stream.write(f"{_digest(text)}\n{text}")
            os.replace(draft, self._path(question))
        except (OSError, ValueError):
            return False
        return True

    def _path(self, question: object) -> str:
        return os.path.join(self._folder, _digest(json.dumps(question)))

    def _make_room(self) -> None:
        with os.scandir(self._folder) as entries:
            oldest = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries)
        for _, path in oldest[: max(0, len(oldest) - _MOST_KEPT + 1)]:
            os.unlink(path)


class Signature:
    """One digest over all that a plan may read: `newest` is when any of it changed last, in nanoseconds.

    The record of `run` and the index are written after a plan, so they do not count for `newest`.
    """

    def __init__(self, home: str, inputs: Iterable[str], run: str = "") -> None:
        self.newest = 0
        self._lines = [f"{sys.version}\0{sys.path}"]
        for folder in sys.path:
            self._installed(folder)
        for path in sorted(set(inputs)):
            self._all(path)
        for name in ("manifests", "objects"):
            self._all(os.path.join(home, name))
        for entry in _entries(os.path.join(home, "runs")):
            if entry.name.startswith("r"):
                self._one(entry.path, counts=entry.name != f"{run}.jsonl")
        for entry in _entries(home):
            if entry.name.startswith("catalog.duckdb"):
                self._one(entry.path, counts=False)
        self._lines.sort()
        self.digest = _digest("\n".join(self._lines))

    def _installed(self, folder: str) -> None:
        """Add what says which packages there are, their versions and entry points."""
        for entry in _entries(folder):
            if entry.name.endswith((".dist-info", ".egg-info")):
                for name in ("METADATA", "PKG-INFO", "entry_points.txt"):
                    self._one(os.path.join(entry.path, name))
            elif entry.name.endswith(".pth") or entry.name.startswith("__editable__"):
                self._one(entry.path)

    def _all(self, path: str) -> None:
        """Add a file, or all files below a folder; that one is absent counts, too."""
        waiting, seen = [path], set()
        while waiting:
            folder = waiting.pop()
            status = self._one(folder)
            if status is None or not stat.S_ISDIR(status.st_mode) or (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            for entry in _entries(folder):
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        waiting.append(entry.path)
                else:
                    self._add(entry.path, _status(entry))

    def _one(self, path: str, *, counts: bool = True) -> os.stat_result | None:
        try:
            status = os.stat(path)
        except OSError:
            status = None
        self._add(path, status, counts=counts)
        return status

    def _add(self, path: str, status: os.stat_result | None, *, counts: bool = True) -> None:
        if status is None:
            self._lines.append(f"{path}\0absent")
            return
        changed, known = status.st_ctime_ns, status.st_mtime_ns
        if counts and (changed > self.newest or known > self.newest):
            self.newest = max(changed, known)
        if stat.S_ISDIR(status.st_mode):
            # Its files stand for themselves, and Python's caches come and go in it.
            self._lines.append(f"{path}\0folder")
        else:
            self._lines.append(f"{path}\0{status.st_size}\0{known}\0{changed}\0{status.st_ino}")


def clock(home: str) -> int:
    """Return the time, in nanoseconds, by our clock or that of the file system of `home`, whichever is behind."""
    now = time.time_ns()
    try:
        probe = os.path.join(home, f".clock.{os.getpid()}")
        os.close(os.open(probe, os.O_CREAT | os.O_WRONLY))
        try:
            return min(now, os.stat(probe).st_ctime_ns)
        finally:
            os.unlink(probe)
    except OSError:
        return now


def _entries(folder: str) -> "Iterator[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _status(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
