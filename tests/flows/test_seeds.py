"""What is random hangs on seeds alone: not on the order of work, nor on how many workers share it."""

import os
import subprocess
from pathlib import Path

import pytest

from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.store.artifacts import Store
from tests.flows.conftest import PrefectServer
from tests.flows.newcomer import BIN

SUITE = """
[[grid]]
datasets = ["one", "two"]
backbones = ["simclip"]
methods = ["dat", "dat_star"]
seeds = [0, 1, 2]
set = { n = 12, k = 4, corruption = [0.1, 0.5] }

[[grid]]
datasets = ["one", "two"]
backbones = ["simclip"]
methods = ["dat"]
seeds = [0, 1, 2]
set = { n = 12, k = 4, references = "random" }

[[diagnostics]]
datasets = ["one", "two"]
backbones = ["simclip"]
kinds = ["prompt_distances"]
seeds = [0, 1]
set = { size = 5 }

[[theory]]
checks = ["fidelity"]
seeds = [0, 1]
set = { dims = [6], ns = [20], ks = [5], each = 10 }
"""


def noisy(folder: Path) -> Home:
    """Return a home that knows two small datasets and a suite that draws at random wherever it can."""
    home = Home(folder)
    for number, name in enumerate(("one", "two")):
        path = home.specs / "datasets" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        world = f"seed = {number}, dim = 12, train = 400, val = 20, test = 60"
        path.write_text(f'prompts = "simbirds"\n[source]\nkind = "simulated"\nsettings = {{ {world} }}\n')
    (home.specs / "suites").mkdir()
    (home.specs / "suites" / "noisy.toml").write_text(SUITE)
    return home


def contents(home: Home) -> dict[str, str]:
    return {manifest.cell: manifest.content for manifest in Store(home).manifests()}


def dat(home: Home, environment: dict[str, str], *words: str) -> None:
    ran = subprocess.run(
        [BIN / "dat", *words],
        env={**environment, "DAT_HOME": str(home.root)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
def test_the_order_of_work_and_the_threads_of_a_processor_do_not_matter(tmp_path: Path) -> None:
    environment = {**os.environ, "DAT_RUNNER": "inline"}
    first, second = noisy(tmp_path / "first"), noisy(tmp_path / "second")
    dat(first, {**environment, "OMP_NUM_THREADS": "1"}, "run", "noisy")
    words = ("--dataset", "two", "--backbone", "simclip", "--method", "dat", "--set", "n=12", "--set", "k=4")
    dat(second, environment, "run", *words, "--set", "corruption=0.5", "--set", "seed=2")
    dat(second, environment, "run", "noisy")
    assert contents(first) == contents(second)
    assert len(contents(first)) > 60


def test_seeds_differ_where_something_is_drawn(tmp_path: Path) -> None:
    home = noisy(tmp_path / "home")
    dat(home, {**os.environ, "DAT_RUNNER": "inline"}, "run", "noisy")
    question = (
        "SELECT dataset, variant, count(DISTINCT content), count(*) FROM artifacts "
        "WHERE step = 'references' AND (variant LIKE '%corruption%' OR variant LIKE '%random%') GROUP BY 1, 2"
    )
    rows = query(home, question).rows
    assert len(rows) == 10
    for dataset, variant, different, seeds in rows:
        assert (different, seeds) == (3, 3), (dataset, variant)
    spread = query(home, "SELECT seeds, wg_lowest <= wg AND wg <= wg_highest FROM sweeps WHERE setting = 'corruption'")
    assert spread.rows == [(3, True)] * 8


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.xdist_group("prefect")
def test_the_number_of_workers_does_not_matter(tmp_path: Path, prefect_server: PrefectServer) -> None:
    homes = [noisy(tmp_path / name) for name in ("inline", "threads", "dask")]
    ways = [("inline",), ("threads", "--workers", "3"), ("dask", "--workers", "2")]
    for home, way in zip(homes, ways, strict=True):
        dat(home, prefect_server.environment, "run", "noisy", "--runner", *way)
    first, *others = map(contents, homes)
    assert all(other == first for other in others)
    assert len(first) > 60
