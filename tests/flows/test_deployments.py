"""The deployments of `prefect.yaml` on a real server with a real worker."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from data_catalog.home import Home
from data_catalog.index.reader import query
from tests.flows.conftest import PrefectServer
from tests.flows.newcomer import BIN

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.prefect, pytest.mark.slow, pytest.mark.xdist_group("prefect")]


def prefect(server: PrefectServer, *words: str) -> str:
    done = subprocess.run(
        [BIN / "prefect", "--no-prompt", *words],
        env=server.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def deployed(prefect_server: PrefectServer) -> dict[str, dict]:
    """Every deployment of the project, by its name on the server."""
    for pool in ("dat", "dat-gpu"):
        prefect(prefect_server, "work-pool", "create", pool, "--type", "process")
    prefect(prefect_server, "deploy", "--all")
    return {deployment["name"]: deployment for deployment in prefect_server.ask("deployments/filter")}


@contextmanager
def worker(server: PrefectServer, home: Home, pool: str) -> Iterator[None]:
    environment = {**server.environment, "DAT_HOME": str(home.root)}
    words = [BIN / "prefect", "worker", "start", "--pool", pool]
    with (home.root.parent / f"{pool}.log").open("w") as log:
        process = subprocess.Popen(words, env=environment, cwd=ROOT, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()


def wait_for(server: PrefectServer, flow_run: str, seconds: float = 240) -> dict:
    """Return a flow run when it has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        (found,) = server.ask("flow_runs/filter", flow_runs={"id": {"any_": [flow_run]}})
        if found["state_type"] in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"):
            return found
        time.sleep(1)
    raise AssertionError(f"{flow_run} is still {found['state_name']}")


def trigger(server: PrefectServer, deployment: dict, **parameters: object) -> str:
    import requests

    answer = requests.post(
        f"{server.url}/deployments/{deployment['id']}/create_flow_run", json={"parameters": parameters}, timeout=30
    )
    answer.raise_for_status()
    return str(answer.json()["id"])


def test_every_deployment_is_there_and_schedules_have_made_their_next_runs(
    prefect_server: PrefectServer, deployed: dict[str, dict]
) -> None:
    assert set(deployed) == {"weekly", "incremental", "ablations", "gpu", "report", "nightly"}
    assert deployed["weekly"]["parameters"] == {"suite": "paper", "force": True}
    limits = {name: entry["concurrency_options"] for name, entry in deployed.items() if entry["concurrency_options"]}
    assert {name: limit["collision_strategy"] for name, limit in limits.items()} == dict.fromkeys(
        ("weekly", "ablations", "nightly"), "CANCEL_NEW"
    )
    deadline = time.monotonic() + 120
    planned: set[str] = set()
    while time.monotonic() < deadline and planned != {"weekly", "nightly"}:
        time.sleep(1)
        runs = prefect_server.ask("flow_runs/filter", flow_runs={"state": {"type": {"any_": ["SCHEDULED"]}}})
        names = {entry["id"]: name for name, entry in deployed.items()}
        planned = {names[run["deployment_id"]] for run in runs if run["deployment_id"] in names}
    assert planned == {"weekly", "nightly"}


def test_a_triggered_deployment_embeds_on_the_other_pool_finishes_and_its_results_are_in_the_catalog(
    prefect_server: PrefectServer, deployed: dict[str, dict], home: Home
) -> None:
    asked = {"suite": "simulated", "methods": ["zero_shot", "dat"]}
    with worker(prefect_server, home, "dat"), worker(prefect_server, home, "dat-gpu"):
        run = wait_for(
            prefect_server, trigger(prefect_server, deployed["incremental"], **asked, embed_with="embed-only/gpu")
        )
        assert run["state_name"] == "Completed", run["state"]["message"]
        assert run["name"] == "benchmark simulated zero_shot dat"
        nightly = wait_for(prefect_server, trigger(prefect_server, deployed["nightly"]))
        assert nightly["state_name"] == "Completed", nightly["state"]["message"]
    computed = query(home, "SELECT run_id, step FROM decisions WHERE outcome = 'computed'").rows
    embedding = {"samples", "image_embeddings", "text_embeddings"}
    assert {step for run_id, step in computed if run_id == "r000001"} == embedding
    assert not {step for run_id, step in computed if run_id == "r000002"} & embedding
    methods = query(home, "SELECT method FROM results ORDER BY method").rows
    assert methods == [("dat",), ("zero_shot",)]
