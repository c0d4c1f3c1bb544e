"""Unpacking an archive that somebody else made: only plain files and folders, and only below the target."""

import bz2
import gzip
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from dat_lib.datasets.source import DataError

Member = tuple[str, Callable[[], IO[bytes] | None]]
"""A name and how to open it; a folder opens to None."""

_ROOM = 2**30
_RATIO = 100
"""An archive may unfold to a GiB whatever its size, and beyond that to so many times its size."""
_ENTRY = 4096
"""What a member counts besides its content, since empty ones fill a disk as well."""
_DEEPEST = 64
_LONGEST_HEADER = 2**20
_CHUNK = 2**20
_COMPRESSIONS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open, b"]\x00\x00": lzma.open}


def unpack(archive: Path, target: Path) -> None:
    """Unpack a tar (also compressed) or zip archive to the folder `target`, which appears whole or not at all.

    Refused, with nothing left behind: names that are absolute or lead out of the target, links of any kind, devices,
    bombs that unfold to far more than their size, and damaged archives. A single folder at the top, as archives of
    repositories have, is left away. Permissions and owners that the archive states are not taken over. An empty folder
    may stand in the target's place.
    """
    staging = target.with_name(target.name + ".unpacking")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    try:
        room = _Room(archive)
        for name, opened in _members(archive):
            _write(staging / _safe(name, archive), opened, room)
        if target.is_dir():
            target.rmdir()
        _content(staging).rename(target)
    except DataError:
        raise
    except (
        OSError,
        EOFError,
        RuntimeError,
        ValueError,
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        LZMAError,
    ) as error:
        raise DataError(f"{archive}: cannot be unpacked to {target}: {error or type(error).__name__}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _members(archive: Path) -> Iterator[Member]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            yield from _zip_members(opened, archive)
    else:
        with (
            _decompressed(archive) as stream,
            tarfile.open(fileobj=_Headers(stream), mode="r:") as opened_tar,  # type: ignore[call-overload]
        ):
            yield from _tar_members(opened_tar, archive)


def _decompressed(archive: Path) -> IO[bytes]:
    with archive.open("rb") as file:
        beginning = file.read(6)
    for mark, opened in _COMPRESSIONS.items():
        if beginning.startswith(mark):
            return opened(archive, "rb")  # type: ignore[operator, no-any-return]
    return archive.open("rb")


class _Headers:
    """A tar stream that is read in pieces: `tarfile` would read a header that claims to be 8 GB into memory at once."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        """Read, but no more at once than files and honest headers are read in."""
        if not 0 <= size <= _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return self._stream.read(size)

    def seek(self, place: int) -> int:
        """Go to a place, as files that are skipped ask for."""
        return self._stream.seek(place)

    def tell(self) -> int:
        """Return the place."""
        return self._stream.tell()


class _Room:
    """How much an archive may still unfold to."""

    def __init__(self, archive: Path) -> None:
        self._archive, self._size = archive, archive.stat().st_size
        self._left = max(_ROOM, _RATIO * self._size)

    def take(self, count: int) -> None:
        """Use some up; a `DataError` when that is more than there is."""
        self._left -= count
        if self._left < 0:
            raise DataError(
                f"{self._archive}: unfolds to more than {max(_ROOM, _RATIO * self._size):,} bytes from {self._size:,}, "
                "as no dataset does; refused as a decompression bomb"
            )


def _zip_members(opened: zipfile.ZipFile, archive: Path) -> Iterator[Member]:
    for member in opened.infolist():
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise DataError(f"{archive}: {member.filename} is a link or a device, which datasets have no use for")
        if member.is_dir():
            yield member.filename, lambda: None
        else:
            yield member.filename, lambda member=member: opened.open(member)  # type: ignore[misc]


def _tar_members(opened: tarfile.TarFile, archive: Path) -> Iterator[Member]:
    for member in opened:
        if not (member.isreg() or member.isdir()):
            raise DataError(f"{archive}: {member.name} is a link or a device, which datasets have no use for")
        yield member.name, lambda member=member: opened.extractfile(member)  # type: ignore[misc]


def _safe(name: str, archive: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or PureWindowsPath(name).drive:
        raise DataError(f"{archive}: {name} would be written outside the folder it is unpacked to")
    if len(path.parts) > _DEEPEST:
        raise DataError(f"{archive}: {name[:100]}… lies {len(path.parts)} folders deep, as in no dataset")
    return path


def _write(path: Path, opened: Callable[[], IO[bytes] | None], room: _Room) -> None:
    room.take(_ENTRY)
    source = opened()
    if source is None:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with source, path.open("wb") as file:
        while piece := source.read(_CHUNK):
            room.take(len(piece))
            file.write(piece)


def _content(staging: Path) -> Path:
    inside = list(staging.iterdir())
    if not inside:
        raise OSError("the archive is empty")
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else staging
