"""Downloads, from a server of the test's own."""

import hashlib
import io
import re
import socket
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dat_lib.datasets import covid, waterbirds
from dat_lib.datasets.files.downloading import download, fetch
from dat_lib.datasets.registry import Archive
from dat_lib.datasets.source import DataError

NOISE = np.random.default_rng(0).bytes(3 * 2**20)


def packed(content: bytes = NOISE) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name in ("metadata.csv", "images/a.bin"):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


@dataclass
class Server:
    """Serves `body`; `cut` ends the next answers after so many bytes."""

    body: bytes
    tag: str | None = '"one"'
    ranges: bool = True
    cut: list[int] = field(default_factory=list)
    asked: list[str | None] = field(default_factory=list)
    url: str = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("Range")
        self.asked.append(asked)
        start = int(asked[len("bytes=") : -1]) if asked and self.ranges else 0
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(self.body) - start))
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(self.body) - 1}/{len(self.body)}")
        if self.tag:
            handler.send_header("ETag", self.tag)
        handler.end_headers()
        sent = self.body[start:]
        if self.cut:
            sent = sent[: self.cut.pop(0)]
        handler.wfile.write(sent)
        handler.close_connection = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "*")
    serving = Server(packed())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            serving.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving.url = f"http://127.0.0.1:{http.server_port}/archive"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield serving
    http.shutdown()
    thread.join()
    http.server_close()


def complete(folder: Path) -> bool:
    return all((folder / name).read_bytes() == NOISE for name in ("metadata.csv", "images/a.bin"))


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def test_an_archive_is_downloaded_checked_unpacked_and_deleted(server: Server, tmp_path: Path) -> None:
    digest = hashlib.sha256(server.body).hexdigest()
    seen: list[tuple[int, int | None]] = []
    archive = Archive(server.url, "a.tar.gz", digest)
    assert fetch(archive, tmp_path / "a", progress=lambda *now: seen.append(now)) == tmp_path / "a"
    assert complete(tmp_path / "a")
    assert left(tmp_path) == {"a"}
    assert seen == sorted(seen)
    assert len(seen) > 3
    assert seen[-1] == (len(server.body), len(server.body))


def test_a_dataset_that_is_there_is_not_downloaded(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mine.csv").touch()
    fetch(Archive(server.url, "a.tar.gz"), tmp_path / "a")
    assert server.asked == []
    assert left(tmp_path / "a") == {"mine.csv"}


def test_an_interrupted_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.cut = [2**20 + 5]
    archive = Archive(server.url, "a.tar.gz", hashlib.sha256(server.body).hexdigest())
    with pytest.raises(DataError, match="cannot be downloaded: interrupted after"):
        fetch(archive, tmp_path / "a", retries=0)
    kept = (tmp_path / "a.tar.gz.part").stat().st_size
    assert 0 < kept <= 2**20 + 5
    fetch(archive, tmp_path / "a", retries=0)
    assert server.asked == [None, f"bytes={kept}-"]
    assert complete(tmp_path / "a")
    assert left(tmp_path) == {"a"}


def test_an_interruption_is_tried_again_by_itself(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    server.cut = [2**20 + 5, 2**20 + 5]
    fetch(Archive(server.url, "a.tar.gz"), tmp_path / "a", retries=2)
    assert complete(tmp_path / "a")
    assert len(server.asked) == 3


@pytest.mark.parametrize("change", ["no ranges", "other tag", "other size"])
def test_a_server_that_cannot_go_on_or_has_something_else_makes_it_begin_again(
    change: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    server.cut = [2**20 + 5]
    old, server.body = server.body, packed(NOISE[::-1]) if change == "other tag" else server.body
    with pytest.raises(DataError):
        fetch(Archive(server.url, "a.tar.gz"), tmp_path / "a", retries=0)
    server.body = old
    if change == "no ranges":
        server.ranges = False
    elif change == "other tag":
        server.tag = '"two"'
    else:
        server.body = old + bytes(512)
    fetch(Archive(server.url, "a.tar.gz"), tmp_path / "a", retries=1)
    assert complete(tmp_path / "a")
    assert left(tmp_path) == {"a"}


def test_a_download_that_was_whole_when_the_process_died_is_not_repeated(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz.part").write_bytes(server.body)
    (tmp_path / "a.tar.gz.part.json").write_text(f'{{"tag": null, "total": {len(server.body)}}}')
    fetch(Archive(server.url, "a.tar.gz"), tmp_path / "a")
    assert server.asked == []
    assert complete(tmp_path / "a")


def test_a_wrong_checksum_leaves_nothing_to_be_used(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be downloaded: .*hash"):
        fetch(Archive(server.url, "a.tar.gz", "0" * 64), tmp_path / "a", retries=0)
    assert left(tmp_path) == set()


def test_a_damaged_download_is_deleted_but_an_archive_of_the_users_is_not(server: Server, tmp_path: Path) -> None:
    server.body = b"<html>gone</html>"
    with pytest.raises(DataError, match="cannot be unpacked"):
        fetch(Archive(server.url, "a.tar.gz"), tmp_path / "a")
    assert left(tmp_path) == set()
    (tmp_path / "a.tar.gz").write_bytes(b"half an archive")
    with pytest.raises(DataError, match="cannot be unpacked"):
        fetch(Archive(server.url, "a.tar.gz"), tmp_path / "a")
    assert left(tmp_path) == {"a.tar.gz"}
    with pytest.raises(DataError, match="does not have the sha256"):
        fetch(Archive(server.url, "a.tar.gz", "0" * 64), tmp_path / "a")
    assert (tmp_path / "a.tar.gz").read_bytes() == b"half an archive"


def test_an_archive_put_there_by_hand_is_unpacked(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(server.body)
    fetch(Archive(server.url, "a.tar.gz"), tmp_path / "a")
    assert server.asked == []
    assert complete(tmp_path / "a")


def test_two_at_once_download_once(server: Server, tmp_path: Path) -> None:
    archive = Archive(server.url, "a.tar.gz")
    both = [threading.Thread(target=fetch, args=(archive, tmp_path / "a")) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(server.asked) == 1
    assert complete(tmp_path / "a")


def elsewhere(monkeypatch: pytest.MonkeyPatch, loader: ModuleType, archive: Archive) -> None:
    """Let a public dataset be had at another place."""
    download = replace(loader.KIND.download, archive=lambda: archive)
    monkeypatch.setattr(loader, "KIND", replace(loader.KIND, download=download))


def test_offline_says_where_to_put_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nowhere = Archive(f"http://127.0.0.1:{port}/x", "waterbirds_v1.0.tar.gz")
    elsewhere(monkeypatch, waterbirds, nowhere)
    with pytest.raises(DataError) as offline:
        download("waterbirds", tmp_path, retries=0)
    message = str(offline.value)
    assert message.startswith(f"waterbirds: {nowhere.url} cannot be downloaded")
    assert f"put the archive of {nowhere.url} at {tmp_path / 'waterbirds_v1.0.tar.gz'}" in message
    assert "waterbirds_v1.0/metadata.csv" in message


def test_a_downloaded_dataset_is_found_by_its_loader(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zipfile

    from tests.dat_lib.datasets import miniatures

    made = miniatures.covid(tmp_path / "made")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.write(made / "metadata.csv", "covid-chestxray-dataset-7854329/metadata.csv")
        archive.writestr("covid-chestxray-dataset-7854329/images/a.png", b"")
    server.body = stream.getvalue()
    elsewhere(monkeypatch, covid, Archive(server.url, "covid-chestxray-dataset.zip"))
    assert download("covid", tmp_path / "data" / "covid") == tmp_path / "data" / "covid" / covid.FOLDER
    assert len(covid.open_dataset(str(tmp_path / "data" / "covid")).samples().labels) == 719


def test_only_what_is_published_can_be_downloaded(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape("those that can are: celeba, covid, fmow, waterbirds")):
        download("sample_table", tmp_path)
