"""A Prefect server for the time of one run: `python -m flows.temporary_server PORT`, and who starts and ends it.

It ends when its standard input does, so that it never outlives the process that started it, however that dies.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from data_catalog.errors import FailureError, explained
from data_catalog.home import Home

TEMPLATE = Path(sys.prefix) / "share" / "dat-bench" / "prefect"
"""An empty database that `make install` has prepared; to make one takes Prefect as long as a small benchmark."""
_START_SECONDS = 180
_SETTINGS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_SERVER_API_BLOCKS_REGISTER_ON_START": "false",
    "PREFECT__SERVER_WEBSERVER_ONLY": "1",
}


@contextmanager
def temporary_server(home: Home) -> Iterator[Callable[[], None]]:
    """Start a server whose database lies in `DAT_HOME`, and make it the one that Prefect reports to.

    What is given waits until the server answers; until then this process can do something else.
    """
    folder = home.root / "prefect"
    _prepare_database(folder)
    port = _port()
    address = f"http://127.0.0.1:{port}/api"
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(port)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**os.environ, **_SETTINGS, "PREFECT_HOME": str(folder)},
            start_new_session=True,  # Ctrl-C is for the run, which then ends the server
        )
    before = dict(os.environ)
    os.environ |= {"PREFECT_HOME": str(folder), "PREFECT_API_URL": address}
    try:
        yield lambda: _wait_until_up(process, address, folder / "server.log")
    finally:
        for name in ("PREFECT_HOME", "PREFECT_API_URL"):
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
        process.terminate()
        process.wait()


def serve(port: int) -> None:
    """Serve Prefect's API until standard input ends."""
    import uvicorn

    def end_with_parent() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    uvicorn.run("prefect.server.api.server:create_app", factory=True, host="127.0.0.1", port=port, log_level="error")


@cache
def _port() -> int:
    """Return a port that is free, the same for all servers of a process: Prefect stays connected to the first."""
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _prepare_database(folder: Path) -> None:
    """Begin with the prepared database where there is none yet; without a prepared one, Prefect makes it."""
    database, draft = folder / "prefect.db", folder / f".{os.getpid()}.db"
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if database.exists() or not (TEMPLATE / database.name).exists():
            return
        try:
            shutil.copyfile(TEMPLATE / database.name, draft)
            with suppress(FileExistsError):
                os.link(draft, database)
        finally:
            draft.unlink(missing_ok=True)


def _wait_until_up(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    import requests

    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(requests.RequestException):
            if requests.get(f"{address}/health", timeout=5).ok:
                return
        time.sleep(0.05)
    raise FailureError(
        "Prefect's temporary server did not start",
        where=str(log),
        remedy="see its log there; `dat run --runner inline` does without Prefect",
    )


if __name__ == "__main__":
    serve(int(sys.argv[1]))
