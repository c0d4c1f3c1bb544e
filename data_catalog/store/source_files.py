"""Digests of the files that users bring: images, tables, weights. Each is read once, and again when it has changed.

What is known of the files of one source, such as a dataset, lies in one table, which may be lost at any time. A digest
counts as long as a file keeps its size, times, inode and device. The time of the last change of any kind (`ctime`) is
among them, since nobody can set it back. A file that changed within the two seconds before it was read is read again
the next time, because a second change in the same tick of the clock would not show.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data_catalog.store.file_digest import file_digest

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[str, int, int], None]
"""Called with the name of a source, and how many of its files that must be read have been, of how many."""

_STAMP = ("size", "modified", "changed", "inode", "device")
_ABSENT = (-1, 0, 0, 0, 0)
_NOT_AT_REST = (-2, 0, 0, 0, 0)
"""Of a file that is read again the next time: no file looks like this."""
_AT_REST = 2 * 10**9
"""Nanoseconds: longer than the ticks of any file system's clock."""
_TICK = 5 * 10**7
_ROUND = 256
"""Files that a thread takes at a time."""


@dataclass(frozen=True)
class Listing:
    """Which files a source has. `says` are the tables and folders that this was read from; `ids` name the files."""

    root: str
    says: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """The files of a source with their digests, None for one that cannot be read."""

    listing: Listing
    digests: dict[str, str | None] = field(repr=False)
    gone: bool = False
    """Whether the files are not there now, and this is how they were last seen."""

    @property
    def says(self) -> dict[str, str | None]:
        """Digests of the tables and folders that say which files there are."""
        return {name: self.digests[name] for name in self.listing.says}

    def rows(self) -> list[tuple[str, str, str | None]]:
        """Return (id, file, digest) of each file."""
        files = self.listing.files
        return list(zip(self.listing.ids or files, files, map(self.digests.__getitem__, files), strict=True))

    @cached_property
    def digest(self) -> str:
        """One digest over all files with their ids and names."""
        text = "\n".join(f"{id_}\0{file}\0{digest}" for id_, file, digest in self.rows())
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Reread:
    """What reading all files of a source again has found."""

    files: int
    changed: int
    """Files that are not what they were when they were last looked at."""
    unnoticed: tuple[str, ...]
    """Those among them that look as if nothing had changed."""


class AbsentError(ValueError):
    """The files of a source are not there, as a listing finds."""


@dataclass(frozen=True)
class SourceFiles:
    """What is known of the files of one source; without `memory`, nothing is kept.

    `origin` says what the listing depends on beside files, such as settings: with another one, it is made again.
    """

    name: str
    origin: str
    memory: Path | None = None
    progress: Progress = lambda name, done, total: None

    def look(self, listing: Callable[[], Listing] | None) -> Seen | None:
        """Look at every file, read those that are new or changed, and return all digests.

        `listing` is called only where the tables and folders that it reads have changed; without one, None is returned
        then. One that raises `AbsentError` leaves what was last seen, if it was of the same origin.
        """
        known = self._recall()
        began = time.time_ns()
        if known is None or not known.is_current(self.origin):
            try:
                found = listing() if listing is not None else None
            except AbsentError:
                if known is None or known.origin != self.origin:
                    raise
                return Seen(known.listing, known.digests, gone=True)
            if found is None:
                return None
        else:
            found = known.listing
        paths = (*found.says, *found.files)
        stamps = _stamps(found.root, paths)
        digests, unread = _compared(known, found, paths, stamps)
        if unread:
            digests |= self._read(found.root, unread)
        if unread or known is None or known.origin != self.origin or known.listing != found:
            self._remember(self.origin, found, stamps, digests, began)
        return Seen(found, digests)

    def reread(self) -> "Reread":
        """Read every file that is known and there, whatever its times, and remember what it is now."""
        known = self._recall()
        if known is None:
            return Reread(0, 0, ())
        root, paths, began = known.root, (*known.listing.says, *known.listing.files), time.time_ns()
        stamps = _stamps(root, paths)
        there = [path for path, stamp in zip(paths, stamps, strict=True) if stamp != _ABSENT]
        digests = {**known.digests, **self._read(root, there)}
        changed = [path for path in dict.fromkeys(there) if digests[path] != known.digests[path]]
        now = dict(zip(paths, stamps, strict=True))
        unnoticed = tuple(f"{root}/{path}" for path in changed if now[path] == known.stamps[path])
        if unnoticed:
            self._remember(known.origin, known.listing, stamps, digests, began)
        return Reread(len(set(there)), len(changed), unnoticed)

    def _read(self, root: str, paths: Iterable[str]) -> dict[str, str | None]:
        names = list(dict.fromkeys(paths))
        found: dict[str, str | None] = {}
        with ThreadPoolExecutor() as pool:
            rounds = pool.map(lambda part: [(name, _digest(f"{root}/{name}")) for name in part], _parts(names))
            for part in rounds:
                found.update(part)
                self.progress(self.name, len(found), len(names))
        return found

    def _recall(self) -> "_Known | None":
        """Return what was remembered, None where nothing is or it is damaged."""
        if self.memory is None or not self.memory.is_file():
            return None
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(self.memory, page_checksum_verification=True)
            head = json.loads(table.schema.metadata[b"source"])
            return _Known(table, head["origin"], head["root"], head["says"])
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
            return None

    def _remember(
        self,
        origin: str,
        listing: Listing,
        stamps: Sequence[tuple[int, ...]],
        digests: dict[str, str | None],
        began: int,
    ) -> None:
        """Keep the table; where that cannot be, the files are read again the next time."""
        if self.memory is None:
            return
        newest = [max(stamp[1:3]) for stamp in stamps]
        stamps = [
            stamp if when < began - _AT_REST else _NOT_AT_REST for stamp, when in zip(stamps, newest, strict=True)
        ]
        paths = (*listing.says, *listing.files)
        import pyarrow as pa
        import pyarrow.parquet as pq

        head = {"origin": origin, "root": listing.root, "says": len(listing.says)}
        ids = (*listing.says, *(listing.ids or listing.files))
        columns = {"id": pa.array(ids, pa.string()), "file": pa.array(paths, pa.string())}
        columns |= {name: pa.array([stamp[at] for stamp in stamps], pa.int64()) for at, name in enumerate(_STAMP)}
        # What said which files there are, and changed meanwhile, may have been read before it did: it is read again.
        outdated = {path for path, stamp in zip(listing.says, newest, strict=False) if stamp > began - _TICK}
        kept = [None if path in outdated else digests[path] for path in paths]
        columns["sha256"] = pa.array(kept, pa.string())
        draft = self.memory.with_name(f".{self.memory.name}.{os.getpid()}.{os.urandom(4).hex()}")
        with suppress(OSError, pa.ArrowException):
            try:
                self.memory.parent.mkdir(exist_ok=True)
                table = pa.table(columns).replace_schema_metadata({"source": json.dumps(head)})
                pq.write_table(table, draft, write_page_checksum=True)
                draft.replace(self.memory)
            finally:
                draft.unlink(missing_ok=True)


@dataclass
class _Known:
    """A table as it was remembered; its first `n_says` rows are what says which files there are."""

    table: "pa.Table"
    origin: str
    root: str
    n_says: int

    @cached_property
    def listing(self) -> Listing:
        files = tuple(self._column("file"))
        ids = tuple(self._column("id")[self.n_says :])
        return Listing(self.root, files[: self.n_says], files[self.n_says :], ids)

    @cached_property
    def digests(self) -> dict[str, str | None]:
        return dict(zip(self._column("file"), self._column("sha256"), strict=True))

    @cached_property
    def stamps(self) -> dict[str, tuple[int, ...]]:
        rows = zip(*(self._column(name) for name in _STAMP), strict=True)
        return dict(zip(self._column("file"), rows, strict=True))

    def is_current(self, origin: str) -> bool:
        """Whether the listing holds: the tables and folders that it was read from say what they said."""
        return self.origin == origin and all(map(self._says_the_same, self.listing.says))

    def _says_the_same(self, name: str) -> bool:
        path = f"{self.root}/{name}"
        return self.stamps[name] == _stamp(path) or self.digests[name] == _digest(path)

    def _column(self, name: str) -> list[Any]:
        values: list[Any] = self.table.column(name).to_pylist()
        return values


def _compared(
    known: _Known | None, listing: Listing, paths: Sequence[str], stamps: Sequence[tuple[int, ...]]
) -> tuple[dict[str, str | None], list[str]]:
    """Return the digests that still count, and the files that must be read."""
    if known is None or known.root != listing.root:
        return {}, list(paths)
    was, digests = known.stamps, known.digests
    unread = [path for path, stamp in zip(paths, stamps, strict=True) if was.get(path) != stamp]
    counted = set(unread)
    return {path: digests[path] for path in paths if path not in counted}, unread


def _stamps(root: str, paths: Iterable[str]) -> list[tuple[int, ...]]:
    return [_stamp(f"{root}/{path}") for path in paths]


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)  # noqa: PTH116  (for every image of a dataset: pathlib takes three times as long)
    except (OSError, ValueError):
        return _ABSENT
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino & (2**63 - 1), found.st_dev & (2**63 - 1)


def _digest(path: str) -> str | None:
    """Return the digest of a file's bytes, of a folder's visible names, None for what cannot be read."""
    with suppress(OSError, ValueError):
        return file_digest(path)
    with suppress(OSError, ValueError):
        names = sorted(entry.name for entry in Path(path).iterdir() if not entry.name.startswith("."))
        return hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()
    return None


def _parts(names: Iterable[str]) -> Iterator[list[str]]:
    waiting = iter(names)
    while part := list(islice(waiting, _ROUND)):
        yield part
