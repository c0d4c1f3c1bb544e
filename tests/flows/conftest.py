"""One Prefect server for all tests that need one, and one demo for those that look at it."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import requests

from tests.flows.newcomer import BIN, Newcomer


@dataclass(frozen=True)
class PrefectServer:
    """A running server, and the environment of processes that report to it."""

    url: str
    environment: dict[str, str]

    def ask(self, path: str, **body: object) -> list[dict]:
        """Return what the server answers to a filter, such as `flow_runs/filter`: at most the first 200."""
        found: list[dict] = self._post(path, body).json()
        return found

    def task_run(self, name: str) -> dict:
        """Return the newest task run of a name."""
        return self.ask("task_runs/filter", task_runs={"name": {"any_": [name]}}, sort="EXPECTED_START_TIME_DESC")[0]

    def task_runs_of(self, flow_run: str) -> list[dict]:
        """Return all task runs of a flow run."""
        return self.ask("task_runs/filter", flow_runs={"id": {"any_": [flow_run]}})

    def count(self, kind: str) -> int:
        """Return how many there are of a kind, such as `flow_runs`."""
        return int(self._post(f"{kind}/count", {}).json())

    def _post(self, path: str, body: dict[str, object]) -> requests.Response:
        answer = requests.post(f"{self.url}/{path}", json=body, timeout=30)
        answer.raise_for_status()
        return answer


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """Run the demo as a newcomer does; tests that use it are of the xdist group `demo`."""
    newcomer = Newcomer(tmp_path_factory.mktemp("newcomer"))
    ran = newcomer.types("dat run demo")
    assert ran.returncode == 0, ran.stderr
    return newcomer


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """Start a real server with a database of its own; tests that use it are of the xdist group `prefect`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("prefect")
    url = f"http://127.0.0.1:{port}/api"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        "PREFECT_HOME": str(folder),
        "PREFECT_API_URL": url,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_API_BLOCKS_REGISTER_ON_START": "false",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "5",
    }
    with (folder / "server.log").open("w") as log:
        words = [BIN / "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        for _ in range(240):
            assert process.poll() is None, (folder / "server.log").read_text()
            try:
                if requests.get(f"{url}/health", timeout=5).ok:
                    break
            except requests.ConnectionError:
                time.sleep(0.5)
        else:
            raise AssertionError(f"no server after two minutes:\n{(folder / 'server.log').read_text()}")
        yield PrefectServer(url, environment)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
