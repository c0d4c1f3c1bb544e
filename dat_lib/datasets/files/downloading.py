"""Downloading a dataset: with progress, taken up again where it was interrupted, checked, and unpacked safely.

WILDS' own addresses are used, but not its downloader: that one goes on without encryption when the encrypted address
fails, unpacks whatever paths an archive names, and hides errors. Nothing here is imported by a loader, so that
the versions of computed results do not depend on how their images were fetched.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dat_lib.datasets.files.unpacking import unpack
from dat_lib.datasets.registry import DATASETS, Archive
from dat_lib.datasets.source import DataError

Progress = Callable[[int, int | None], None]
"""Told the bytes that are there so far and, where the server says it, the bytes of the whole archive."""

_CHUNK = 2**20
_TIMEOUT = 60


def download(
    kind: str, root: str | Path, *, progress: Progress | None = None, sha256: str | None = None, retries: int = 3
) -> Path:
    """Download and unpack a dataset below `root`, unless it is there; return its folder.

    `sha256`: what the archive must have, for those who know it. An archive that somebody has put into `root` under the
    expected name is unpacked instead of being downloaded. A `DataError` says where the files can be put by hand, and in
    which layout.
    """
    offered = DATASETS.kind(kind).download
    if offered is None:
        others = [name for name in DATASETS.names() if DATASETS.kind(name).download]
        raise DataError(f"{kind} cannot be downloaded; those that can are: {', '.join(others)}")
    root = Path(root)
    archive = offered.archive()
    try:
        archive = replace(archive, sha256=sha256 or archive.sha256)
        return fetch(archive, root / offered.folder, progress=progress, retries=retries)
    except DataError as error:
        raise DataError(
            f"{kind}: {error}\nTo do it by hand, put the archive of {archive.url} at {root / archive.file_name}, "
            f"or its files below {root} like this:\n{offered.layout}"
        ) from error


def fetch(archive: Archive, target: Path, *, progress: Progress | None = None, retries: int = 3) -> Path:
    """Download an archive beside `target` and unpack it there; a target that holds something is left as it is.

    The archive is deleted once unpacked, and also when it was downloaded just now and turns out to be damaged.
    """
    from filelock import FileLock

    path = target.with_name(archive.file_name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(path.name + ".lock")):
            if target.is_dir() and any(target.iterdir()):
                return target
            given = path.is_file()
            _download(archive, path, progress, retries)
            try:
                unpack(path, target)
            except DataError:
                if not given:
                    path.unlink()
                raise
            path.unlink()
    except OSError as error:
        raise DataError(f"{path.parent}: cannot be written: {error}") from error
    return target


def _download(archive: Archive, path: Path, progress: Progress | None, retries: int) -> None:
    import pooch  # type: ignore[import-untyped]
    import requests

    pooch.get_logger().setLevel("WARNING")
    keeper = pooch.create(
        path=path.parent,
        base_url="",
        registry={archive.file_name: archive.sha256 and f"sha256:{archive.sha256}"},
        urls={archive.file_name: archive.url},
        retry_if_failed=retries,
    )
    if path.is_file() and archive.sha256 and pooch.file_hash(str(path)) != archive.sha256:
        raise DataError(f"{path}: does not have the sha256 {archive.sha256}; delete it, or put the right one there")
    try:
        keeper.fetch(archive.file_name, downloader=_Resuming(path, progress))
    except (requests.RequestException, ValueError) as error:
        raise DataError(f"{archive.url} cannot be downloaded: {error}") from error


@dataclass(frozen=True)
class _Resuming:
    """A downloader for pooch that keeps what has arrived beside the archive, and asks only for the rest.

    It goes on only when the server offers the same archive as before, as told by its size and, where given, its tag;
    otherwise it begins again.
    """

    archive: Path
    progress: Progress | None

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool = False) -> None:
        import requests
        import urllib3

        part = self.archive.with_name(self.archive.name + ".part")
        note = part.with_name(part.name + ".json")
        known = _read_note(note)
        kept = part.stat().st_size if part.is_file() and known else 0
        if kept and kept == known.get("total"):
            part.replace(output_file)
            note.unlink()
            return
        # Without `identity` a server may compress on the way, and offsets would mean something else.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={kept}-"} if kept else {})
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            if kept and not _continues(response, known, kept):
                part.unlink()
                note.unlink()
                if response.status_code != 200:
                    raise requests.ConnectionError("the archive on the server has changed; beginning again")
                kept = 0
            response.raise_for_status()
            total = _total(response, kept)
            note.write_text(json.dumps({"tag": response.headers.get("ETag"), "total": total}))
            with part.open("ab" if kept else "wb") as file:
                try:
                    for chunk in response.raw.stream(_CHUNK, decode_content=False):
                        file.write(chunk)
                        if self.progress is not None:
                            self.progress(file.tell(), total)
                except urllib3.exceptions.HTTPError as error:
                    raise requests.ConnectionError(f"interrupted after {file.tell()} bytes: {error}") from error
                if total is not None and file.tell() != total:
                    raise requests.ConnectionError(f"ended after {file.tell()} of {total} bytes")
        part.replace(output_file)
        note.unlink()


def _read_note(note: Path) -> dict[str, Any]:
    """Return what is known of the archive whose beginning is kept; empty where that is nothing."""
    try:
        return dict(json.loads(note.read_text()))
    except (OSError, ValueError):
        return {}


def _continues(response: Any, known: dict[str, Any], kept: int) -> bool:
    """Whether the answer is the rest of what is kept."""
    total = known.get("total")
    return (
        total is not None
        and response.status_code == 206
        and response.headers.get("Content-Range") == f"bytes {kept}-{total - 1}/{total}"
        and response.headers.get("ETag") == known.get("tag")
    )


def _total(response: Any, kept: int) -> int | None:
    length = response.headers.get("Content-Length")
    return None if length is None else kept + int(length)
