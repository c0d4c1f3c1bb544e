"""Unpacking an archive that somebody else made: only plain files and folders, and only below the target."""

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


def unpack(archive: Path, target: Path) -> None:
    """Unpack a tar (also compressed) or zip archive to the folder `target`, which appears whole or not at all.

    Refused, with nothing left behind: names that are absolute or lead out of the target, links of any kind, devices,
    and damaged archives. A single folder at the top, as archives of repositories have, is left away. Permissions and
    owners that the archive states are not taken over. An empty folder may stand in the target's place.
    """
    staging = target.with_name(target.name + ".unpacking")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    try:
        for name, opened in _members(archive):
            _write(staging / _safe(name, archive), opened)
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
        with tarfile.open(archive) as opened_tar:
            yield from _tar_members(opened_tar, archive)


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
    return path


def _write(path: Path, opened: Callable[[], IO[bytes] | None]) -> None:
    source = opened()
    if source is None:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with source, path.open("wb") as file:
        shutil.copyfileobj(source, file, 2**20)


def _content(staging: Path) -> Path:
    inside = list(staging.iterdir())
    if not inside:
        raise OSError("the archive is empty")
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else staging
