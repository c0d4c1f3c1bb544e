"""Who is answered by a served report, and with what, in requests as they go over the wire."""

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.cli.report_server import ReportServer

SECRET = b"what-nobody-may-read"
PAGE = b"<!doctype html><p>the report"

Ask = Callable[..., bytes]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A report beside a secret."""
    folder = tmp_path / "report"
    (folder / "csv").mkdir(parents=True)
    (folder / "index.html").write_bytes(PAGE)
    (folder / "csv" / "main results.csv").write_bytes(b"a\n1\n")
    (folder / ".dat-report").write_bytes(SECRET)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "file").write_bytes(SECRET)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(SECRET)
    (folder / "link").symlink_to(outside / "secret")
    (folder / "linked").symlink_to(outside)
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[ReportServer]:
    with ReportServer(folder, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def sent(server: ReportServer) -> Callable[[bytes], bytes]:
    """Send bytes, and return all that comes back."""

    def send(request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))

    return send


@pytest.fixture
def ask(server: ReportServer, sent: Callable[[bytes], bytes]) -> Ask:
    """Ask for a path, and return the answer without a secret in it."""

    def ask(path: str = "/", method: str = "GET", host: str | None = None) -> bytes:
        named = f"localhost:{server.server_port}" if host is None else host.format(port=server.server_port)
        answer = sent(f"{method} {path} HTTP/1.1\r\nHost: {named}\r\n\r\n".encode())
        assert SECRET not in answer
        return answer

    return ask


def status(answer: bytes) -> int:
    return int(answer.split()[1])


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LocalHost:{port}"])
def test_loopback_names_are_answered(ask: Ask, host: str) -> None:
    answer = ask(host=host)
    assert status(answer) == 200
    assert answer.endswith(b"\r\n\r\n" + PAGE)
    assert b"Content-Type: text/html; charset=utf-8\r\n" in answer


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "evil.example",
        "localhost",
        "localhost:1",
        "127.0.0.1",
        "127.0.0.2:{port}",
        "localhost.evil.example:{port}",
        "localhost:{port}.evil.example",
        "localhost:{port}@evil.example",
        "evil.example, localhost:{port}",
        "",
    ],
)
def test_other_names_are_not(ask: Ask, host: str) -> None:
    answer = ask(host=host)
    assert status(answer) == 421
    assert PAGE not in answer
    assert len(answer) < 500


def test_a_request_without_a_name_or_with_two_is_not_answered(server: ReportServer, sent) -> None:
    host = f"Host: localhost:{server.server_port}\r\n".encode()
    assert status(sent(b"GET / HTTP/1.1\r\n" + host + b"\r\n")) == 200
    assert status(sent(b"GET / HTTP/1.0\r\n\r\n")) == 421
    assert status(sent(b"GET / HTTP/1.1\r\n" + host + b"Host: evil.example\r\n\r\n")) == 421


def test_files_of_the_report_are_served_by_their_names(ask: Ask) -> None:
    assert ask("/index.html").endswith(PAGE)
    assert ask("/?x=1").endswith(PAGE)
    assert ask("/csv/main%20results.csv").endswith(b"\r\n\r\na\n1\n")


@pytest.mark.parametrize(
    "path",
    [
        *("/csv", "/csv/", "/linked", "/linked/", "/."),
        *("/link", "/linked/secret", "/.dat-report", "/.hidden/file", "/%2edat-report"),
        *("/../outside/secret", "/%2e%2e/outside/secret", "/csv/../../outside/secret", "/..%2foutside%2fsecret"),
        *("/etc/passwd", "//etc/passwd", "/%2fetc/passwd", "/index.html%00", "/csv/../index.html", "index.html"),
        *("http://evil.example/", "/%ff", "*"),
    ],
)
def test_folders_links_hidden_files_and_what_lies_outside_are_not_there(ask: Ask, path: str) -> None:
    answer = ask(path)
    assert status(answer) == 404
    assert b"main results" not in answer
    assert b"root:" not in answer


def test_what_is_put_there_later_is_not_served(ask: Ask, folder: Path) -> None:
    (folder / "later").write_bytes(SECRET)
    (folder / "index.html").unlink()
    (folder / "index.html").symlink_to(folder.parent / "outside" / "secret")
    shutil.rmtree(folder / "csv")
    (folder.parent / "outside" / "main results.csv").write_bytes(SECRET)
    (folder / "csv").symlink_to(folder.parent / "outside")
    for path in ("/later", "/", "/index.html", "/csv/main%20results.csv"):
        assert status(ask(path)) == 404


def test_nothing_but_get_and_head_is_answered(ask: Ask) -> None:
    answer = ask(method="HEAD")
    assert status(answer) == 200
    assert answer.endswith(b"\r\n\r\n")
    assert f"Content-Length: {len(PAGE)}\r\n".encode() in answer
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"):
        answer = ask(method=method)
        assert status(answer) == 405
        assert b"Allow: GET, HEAD\r\n" in answer
