"""A report over HTTP, for the browser of this machine and for nobody else.

Any page that a browser shows can send requests to this machine, also under a name of its own that it lets point here.
So only requests for a loopback name are answered, and only with files that belong to the report.
"""

import os
import stat
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

_NAMES = ("localhost", "127.0.0.1", "[::1]")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".tex": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
}
_BLOCK = 1 << 16


class ReportServer(ThreadingHTTPServer):
    """Serves the files that lie in a report's folder now, on the loopback interface; port 0 is any that is free."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.files = frozenset(_files(folder))
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """Where a browser finds the report."""
        return f"http://127.0.0.1:{self.server_port}/"

    @property
    def hosts(self) -> set[str]:
        """What a request may call this server."""
        ports = (f":{self.server_port}", *([""] if self.server_port == 80 else []))
        return {f"{name}{port}" for name in _NAMES for port in ports}

    def opened(self, name: str) -> BinaryIO | None:
        """Open one of the report's files by its name, such as `csv/ranking.csv`; None for everything else."""
        if name not in self.files:
            return None
        try:
            return _opened(self.folder, name)
        except OSError:  # removed meanwhile, or a link by now
            return None


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer
    timeout = 30

    def do_GET(self) -> None:
        """Answer with a file."""
        self._answer()

    def do_HEAD(self) -> None:
        """Answer with what is known about a file."""
        self._answer()

    def parse_request(self) -> bool:
        """Read a request, and refuse it where it is not one for a file."""
        if not super().parse_request():
            return False
        if self.command not in ("GET", "HEAD"):
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are answered", {"Allow": "GET, HEAD"})
            return False
        return True

    def _answer(self) -> None:
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].strip().lower() not in self.server.hosts:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "this report is served to this machine under loopback names")
            return
        path = unquote(self.path.partition("?")[0], errors="replace")
        name = "index.html" if path == "/" else path.removeprefix("/")
        file = self.server.opened(name) if path.startswith("/") else None
        if file is None:
            self._refuse(HTTPStatus.NOT_FOUND, "the report has no such file")
            return
        with file:
            kind = _TYPES.get(Path(name).suffix, "application/octet-stream")
            self._begin(HTTPStatus.OK, kind, os.fstat(file.fileno()).st_size)
            while self.command != "HEAD" and (block := file.read(_BLOCK)):
                self.wfile.write(block)

    def _refuse(self, status: HTTPStatus, why: str, headers: dict[str, str] | None = None) -> None:
        text = f"{why}\n".encode()
        self._begin(status, "text/plain; charset=utf-8", len(text), headers or {})
        if self.command != "HEAD":
            self.wfile.write(text)

    def _begin(self, status: HTTPStatus, kind: str, size: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        common = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Connection": "close"}
        for name, value in {"Content-Type": kind, "Content-Length": str(size), **common, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def version_string(self) -> str:
        """Tell nothing of versions."""
        return "dat"

    def log_message(self, *_: object) -> None:
        """Say nothing about each request."""


def _files(folder: Path) -> list[str]:
    """Return the names of all files below a folder that are neither links nor hidden."""
    names = []
    for place, folders, files in os.walk(folder):  # does not follow links to folders
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(place, name)
            if not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                names.append(path.relative_to(folder).as_posix())
    return names


def _opened(folder: Path, name: str) -> BinaryIO:
    """Open a file below a folder; an `OSError` where it, or a folder on the way to it, is a link."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in name.split("/"):
            # Not blocking: a pipe in the place of the file would be waited for.
            inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(name)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")
