"""`dat run` by Prefect, as processes of their own that report to one real server."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image

from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.store.artifacts import Store
from data_catalog.store.runs import read_run
from data_catalog.store.verification import verify
from tests.flows.conftest import PrefectServer
from tests.flows.newcomer import BIN

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.prefect, pytest.mark.slow, pytest.mark.xdist_group("prefect")]

BOTH = "toybirds x toyclip"
DEMO_TASKS = {
    "list samples toybirds": [],
    "digest images toybirds": [],
    "open weights toyclip": [],
    f"embed images {BOTH}": [("digest images", "toybirds"), ("open weights", "toyclip")],
    f"embed prompts {BOTH}": [("open weights", "toyclip")],
    f"infer attributes {BOTH}": [("embed images", BOTH), ("embed prompts", BOTH)],
    f"herd references {BOTH}": [("list samples", "toybirds"), ("embed images", BOTH), ("infer attributes", BOTH)],
    f"measure densities {BOTH}": [
        ("list samples", "toybirds"),
        ("embed images", BOTH),
        ("herd references", BOTH),
    ],
    f"predict {BOTH} (19 methods)": [
        ("list samples", "toybirds"),
        ("open weights", "toyclip"),
        ("embed images", BOTH),
        ("embed prompts", BOTH),
        ("infer attributes", BOTH),
        ("herd references", BOTH),
        ("measure densities", BOTH),
    ],
    f"measure groups {BOTH}": [("list samples", "toybirds"), ("predict", f"{BOTH} (19 methods)")],
    f"compare {BOTH}": [("predict", f"{BOTH} (19 methods)")],
    f"diagnose {BOTH}": [
        ("list samples", "toybirds"),
        ("open weights", "toyclip"),
        ("embed images", BOTH),
        ("embed prompts", BOTH),
        ("herd references", BOTH),
        ("measure densities", BOTH),
    ],
}
"""The task runs of the demo, and those that each depends on."""

QUICK = ("run", "simulated", "--method", "zero_shot", "--method", "dat", "--method", "dat_star", "--method", "tie")


@pytest.fixture
def environment(prefect_server: PrefectServer, home: Home) -> dict[str, str]:
    return {**prefect_server.environment, "DAT_HOME": str(home.root), "DAT_RUNNER": "threads"}


def start(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [BIN / "dat", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def dat(environment: dict[str, str], *words: str, code: int = 0) -> str:
    process = start(environment, *words)
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, out + err
    assert "Traceback" not in err
    return out


def contents(home: Home) -> dict[str, str]:
    """The content of every cell's current artifact."""
    return {manifest.cell: manifest.content for manifest in Store(home).manifests()}


def elsewhere(environment: dict[str, str], tmp_path: Path, name: str) -> tuple[Home, dict[str, str]]:
    home = Home(tmp_path / name)
    return home, {**environment, "DAT_HOME": str(home.root)}


def test_the_demo_from_images_to_a_leaderboard_and_a_second_run_that_does_nothing(
    prefect_server: PrefectServer, home: Home, environment: dict[str, str]
) -> None:
    first = json.loads(dat(environment, "run", "demo", "--json"))
    # Tables of diagnostics that were made in one go with another are there when their turn comes.
    assert first["outcomes"].keys() == {"computed", "up to date"}
    assert first["outcomes"]["up to date"] == 4
    right = query(
        home,
        "SELECT r.method, r.wg, min(a) FROM results r JOIN ("
        "  SELECT method, 100 * avg((label = prediction)::INT) AS a FROM predictions GROUP BY method, label, attribute"
        ") USING (method) GROUP BY r.method, r.wg",
    ).rows
    assert len(right) == 19
    for method, wg, recounted in right:
        assert wg == pytest.approx(recounted), method
    artifacts = {found["key"]: found for found in prefect_server.ask("artifacts/latest/filter")}
    assert {"plan", "leaderboard"} <= artifacts.keys()
    assert "predictions/toybirds/toyclip/dat" in artifacts["plan"]["data"]
    assert all(f"| {method} |" in artifacts["leaderboard"]["data"] for method, _, _ in right)
    (ran,) = prefect_server.ask("flow_runs/filter", flow_runs={"name": {"any_": ["benchmark demo"]}})
    tasks = {run["name"]: run for run in prefect_server.task_runs_of(ran["id"])}
    assert tasks.keys() == {*DEMO_TASKS, *(name for name in tasks if name.startswith("report"))}
    assert {run["state_name"] for run in tasks.values()} == {"Completed"}
    assert set(tasks["embed images toybirds x toyclip"]["tags"]) == {
        "dataset:toybirds",
        "backbone:toyclip",
        "step:image_embeddings",
    }
    names = {run["id"]: name for name, run in tasks.items()}
    for name, expected in DEMO_TASKS.items():
        found = {names[one["id"]] for one in tasks[name]["task_inputs"]["assignment"]}
        assert found == {f"{before} {place}" for before, place in expected}, name
    reports = prefect_server.ask("flow_runs/filter", flow_runs={"name": {"any_": ["report demo"]}})
    assert [run["state_name"] for run in reports] == ["Completed"]

    flows = prefect_server.count("flow_runs")
    second = json.loads(dat(environment, "run", "demo", "--json"))
    assert second["outcomes"] == {"up to date": sum(first["outcomes"].values())}
    assert prefect_server.count("flow_runs") == flows, "what is up to date is no flow"


ALONE = """
from prefect.exceptions import ParameterTypeError
from flows.benchmark import scoring

try:
    scoring(suite="simulated", workers=0)
except ParameterTypeError as error:
    print("refused:", "greater than or equal to 1" in str(error))
summary = scoring(suite="simulated", methods=["zero_shot"])
print(type(summary).__name__, summary.run_id, dict(summary.counts))
"""


def test_a_part_of_the_pipeline_is_a_flow_of_its_own_that_python_can_call(
    home: Home, environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=200
    )
    assert done.stdout.splitlines() == ["refused: True", "Summary r000001 {'computed': 4}"], done.stderr
    steps = query(home, "SELECT DISTINCT step FROM artifacts ORDER BY step").rows
    assert steps == [("image_embeddings",), ("predictions",), ("samples",), ("text_embeddings",)]


def test_threads_and_two_dask_workers_give_equal_contents_to_one_cell_after_the_other(
    home: Home, environment: dict[str, str], tmp_path: Path
) -> None:
    request = (*QUICK, "--json")
    dat(environment, *request, "--workers", "2")
    by_dask, for_dask = elsewhere(environment, tmp_path, "dask")
    dat(for_dask, *request, "--runner", "dask", "--workers", "2")
    in_turn, for_one = elsewhere(environment, tmp_path, "inline")
    dat(for_one, *request, "--runner", "inline")
    assert contents(home) == contents(by_dask) == contents(in_turn)
    assert len(contents(home)) >= 11
    outcomes = query(by_dask, "SELECT DISTINCT outcome FROM decisions").rows
    assert outcomes == [("computed",)], "what workers of other processes did is on record"


FEW_BIRDS = """
prompts = "toybirds"
[source]
kind = "toybirds"
settings = { seed = 3, train = 2400, val = 40, test = 80 }
"""


def test_the_demo_in_small_killed_ten_times_at_random_and_rerun(
    home: Home, environment: dict[str, str], tmp_path: Path
) -> None:
    request = ("run", "small-demo")
    undisturbed, apart = elsewhere(environment, tmp_path, "undisturbed")
    for place in (home, undisturbed):
        write_spec(place, "datasets/fewbirds", FEW_BIRDS)
        demo = (ROOT / "data_catalog" / "specs" / "suites" / "demo.toml").read_text()
        write_spec(place, "suites/small-demo", demo.replace('"toybirds"', '"fewbirds"'))
    dat(apart, *request, "--runner", "inline")
    chance = random.Random(11)
    kept: dict[str, str] = {}
    for _ in range(10):
        process = start(environment, *request)
        # Between before the first cell of this attempt and after several, wherever the process then is.
        told = computed_so_far(home) + chance.randint(0, 3)
        while process.poll() is None and computed_so_far(home) < told:
            time.sleep(0.02)
        time.sleep(chance.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert verify(Store(home)).damaged == ()
        now = contents(home)
        assert kept.items() <= now.items(), "nothing that was committed is lost"
        kept = now
    assert kept, "no attempt got anywhere"
    unfinished = contents(undisturbed).keys() - kept.keys()
    assert unfinished, "nothing was left to finish"
    last = json.loads(dat(environment, *request, "--json"))
    beside = {manifest.cell for manifest in Store(home).manifests() if "made_with" in manifest.summary}
    assert last["outcomes"].get("computed", 0) == len(unfinished - beside), "cells made in one go count once"
    assert contents(home) == contents(undisturbed)
    question = "SELECT method, wg, avg FROM results ORDER BY method"
    assert query(home, question).rows == query(undisturbed, question).rows


def computed_so_far(home: Home) -> int:
    """How many cells all runs together have computed."""
    return sum(line.get("outcome") == "computed" for path in home.runs.glob("r*.jsonl") for line in read_run(path))


MIXED = """
title = "Two poisoned datasets or models beside a sound one"
[[grid]]
datasets = ["nowhere"]
backbones = ["toyclip"]
methods = ["zero_shot"]
[[grid]]
datasets = ["simbirds"]
backbones = ["simclip"]
methods = ["zero_shot", "tie"]
[[grid]]
datasets = ["few"]
backbones = ["nan-clip"]
methods = ["zero_shot"]
"""


def test_poisoned_cells_fail_alone_with_their_messages(
    home: Home, environment: dict[str, str], tmp_path: Path, prefect_server: PrefectServer
) -> None:
    write_spec(home, "datasets/nowhere", 'prompts = "toybirds"\n[source]\nkind = "image_folder"\nroot = "/no/folder"\n')
    write_spec(
        home, "datasets/few", f'prompts = "toybirds"\n[source]\nkind = "image_folder"\nroot = "{tmp_path}/few"\n'
    )
    write_spec(home, "backbones/nan-clip", f'kind = "transformers"\nweights = "{nan_model(tmp_path / "nan")}"\n')
    write_spec(home, "suites/mixed", MIXED)
    few_images(tmp_path / "few")
    report = json.loads(dat(environment, "run", "mixed", "--json", code=1))
    failed = {entry["cell"]: entry["error"] for entry in report["failed"] if entry["error"] != "an input failed"}
    assert failed.keys() == {"samples/nowhere", "files/nowhere", "weights/nan-clip"}
    assert "/no/folder" in failed["samples/nowhere"]
    assert "numbers that are not finite" in failed["weights/nan-clip"]
    done = query(home, "SELECT dataset, method FROM results ORDER BY ALL").rows
    assert done == [("simbirds", "tie"), ("simbirds", "zero_shot")]
    samples = prefect_server.task_run("list samples nowhere")
    assert samples["state_name"] == "Failed"
    assert samples["state"]["message"].startswith("1 of 1 cells failed: samples/nowhere: /no/folder")
    assert prefect_server.task_run("predict simbirds x simclip (2 methods)")["state_name"] == "Completed"
    blocked = prefect_server.task_run("predict nowhere x toyclip (1 methods)")
    assert (blocked["state_name"], "an input failed" in blocked["state"]["message"]) == ("Failed", True)
    (ran,) = prefect_server.ask("flow_runs/filter", flow_runs={"name": {"any_": ["benchmark mixed"]}})
    assert ran["state_name"] == "Failed"
    assert "/no/folder" in ran["state"]["message"]


def write_spec(home: Home, name: str, text: str) -> None:
    path = home.specs / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def nan_model(folder: Path) -> Path:
    """Write a model whose embeddings of images are NaN."""
    from safetensors.numpy import load_file, save_file

    shutil.copytree(ROOT / "data_catalog" / "toyclip", folder)
    weights = load_file(folder / "model.safetensors")
    weights["visual_projection.weight"] = np.full_like(weights["visual_projection.weight"], np.nan)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def few_images(folder: Path) -> None:
    for split in ("train", "test"):
        for label in ("landbird", "waterbird"):
            for attribute in ("land", "water"):
                place = folder / split / label / attribute
                place.mkdir(parents=True)
                Image.new("RGB", (48, 48), (10, 200, 30)).save(place / "one.png")


RETRIED = """
import sys
from pathlib import Path
from prefect import flow
from data_catalog.home import Home
from tasks.engine.execution import Assignment, Order
from tasks.pipeline import predict
from tests.tasks.test_settling import flaky

home = Home.from_environment()
home.prepare()
batch = flaky(Path(sys.argv[1]), sys.argv[2])

@flow(name="retried")
def retried() -> None:
    state = predict(Assignment(Order(home, "r000001"), batch), return_state=True)
    print(state.name, state.result(raise_on_failure=False).outcomes[0].outcome, Path(sys.argv[1]).read_text())

retried()
"""


@pytest.mark.parametrize(("kind", "expected"), [("connection", "Completed computed 0"), ("value", "Failed failed 0")])
def test_a_task_is_tried_again_when_the_network_failed_and_never_for_wrong_data(
    home: Home, environment: dict[str, str], tmp_path: Path, kind: str, expected: str
) -> None:
    (tmp_path / "failures").write_text("1")
    words = [sys.executable, "-c", RETRIED, str(tmp_path / "failures"), kind]
    done = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == expected, done.stderr


def test_two_runs_at_once_share_the_work(home: Home, environment: dict[str, str]) -> None:
    runs = [start(environment, *QUICK, "--json") for _ in range(2)]
    for process in runs:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
    twice = query(
        home, "SELECT cell FROM decisions WHERE outcome = 'computed' GROUP BY cell, key HAVING count(*) > 1"
    ).rows
    assert twice == []
    assert query(home, "SELECT count(*) FROM results").rows == [(4,)]


def test_ctrl_c_ends_it_at_once_and_the_same_command_goes_on(home: Home, environment: dict[str, str]) -> None:
    process = start(environment, "run", "demo")
    while process.poll() is None and computed_so_far(home) < 1:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "goes on from there" in err
    assert "Traceback" not in err
    assert query(home, "SELECT status FROM runs").rows == [("stopped",)]


def test_a_server_that_is_not_there_is_a_clear_error(home: Home, environment: dict[str, str]) -> None:
    process = start({**environment, "PREFECT_API_URL": "http://127.0.0.1:9/api"}, *QUICK)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "http://127.0.0.1:9/api" in err
    assert "Traceback" not in err
    assert not list(Store(home).listing())


def test_without_a_server_a_temporary_one_lives_inside_the_home(home: Home, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment |= {"DAT_HOME": str(home.root), "DAT_RUNNER": "threads", "HOME": str(tmp_path / "person")}
    report = json.loads(dat(environment, "run", "simulated", "--method", "zero_shot", "--json"))
    assert report["outcomes"] == {"computed": 5}
    assert (home.root / "prefect" / "prefect.db").exists()
    assert not (tmp_path / "person" / ".prefect").exists()


def test_a_temporary_server_dies_with_the_run_that_started_it(home: Home, environment: dict[str, str]) -> None:
    environment = {name: value for name, value in environment.items() if name != "PREFECT_API_URL"}
    process = start({**environment, "HOME": str(home.root)}, *QUICK)
    while process.poll() is None and computed_so_far(home) < 1:
        time.sleep(0.02)
    started = psutil.Process(process.pid).children(recursive=True)
    assert any("flows.temporary_server" in child.cmdline() for child in started)
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not alive


def test_a_run_with_failed_cells_is_a_failed_flow_run_that_names_what_failed(
    home: Home, environment: dict[str, str], prefect_server: PrefectServer
) -> None:
    write_spec(home, "datasets/nowhere", 'prompts = "toybirds"\n[source]\nkind = "image_folder"\nroot = "/no/folder"\n')
    dat(environment, "run", "--dataset", "nowhere", "--backbone", "toyclip", "--method", "zero_shot", code=1)
    name = "benchmark nowhere toyclip zero_shot"
    (run,) = prefect_server.ask("flow_runs/filter", flow_runs={"name": {"any_": [name]}})
    assert run["state_type"] == "FAILED"
    assert "nowhere" in run["state"]["message"]
