"""A small world on which DAT's steps are run: a dataset in a home's own specs, and what the library gives by hand."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dat_lib.methods.registry import make_method
from dat_lib.methods.support.contract import Prediction, Problem
from dat_lib.methods.support.pool_densities import run_on_pool
from dat_lib.toyworld.simulation import simulate
from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.planning.cell import Cell
from data_catalog.specs.collection import Specs
from data_catalog.store.artifacts import Store
from tasks.engine.run import BenchmarkResult, run_benchmark
from tasks.graph.experiments import Experiment
from tasks.graph.graph import Graph

WORLD: dict[str, Any] = {"seed": 7, "dim": 12, "train": 600, "val": 20, "test": 60}
SMALL = {"n": 12, "k": 4}
"""Settings that the small groups of this world serve."""


def experiment(method: str = "dat", seed: int = 0, **settings: Any) -> Experiment:
    """Return an experiment on the small world."""
    return Experiment("small", "simclip", method, {**SMALL, **settings}, seed)


def cells_of(home: Home, experiments: Iterable[Experiment]) -> list[Cell]:
    """Return the cells of experiments, in a home that knows the dataset."""
    spec = home.specs / "datasets" / "small.toml"
    spec.parent.mkdir(parents=True, exist_ok=True)
    settings = ", ".join(f"{name} = {value}" for name, value in WORLD.items())
    spec.write_text(f'prompts = "simbirds"\n[source]\nkind = "simulated"\nsettings = {{ {settings} }}\n')
    return Graph(Specs.from_environment(home)).cells(experiments)


def run(home: Home, experiments: Iterable[Experiment], **more: Any) -> BenchmarkResult:
    """Bring experiments up to date; none may fail."""
    result = run_benchmark(cells_of(home, experiments), Store(home), request="test", **more)
    assert not result.failed, result.failed[0].error
    return result


def computed(home: Home, run_id: str) -> Counter[str]:
    """Return how many cells of each step a run has computed, as its decisions tell."""
    question = "SELECT step, count(*) FROM decisions WHERE run_id = ? AND outcome = 'computed' GROUP BY step"
    return Counter(dict(query(home, question, [run_id]).rows))


def stored(home: Home, wanted: Experiment) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return the predictions, margins and notes that the store holds for an experiment."""
    (cell,) = (cell for cell in cells_of(home, [wanted]) if cell.step == "predictions")
    ((key,),) = query(home, "SELECT key FROM decisions WHERE cell = ? ORDER BY run_id DESC LIMIT 1", [cell.name]).rows
    manifest = Store(home).find("predictions", key)
    assert manifest is not None
    table = Store(home).read(manifest)
    return table.column("prediction").to_numpy(), table.column("margin").to_numpy(), dict(manifest.summary["notes"])


def by_hand(wanted: Experiment) -> Prediction:
    """Return what the library gives for an experiment, without a pipeline."""
    world = simulate(**WORLD)
    pool, test = world.part("train"), world.part("test")
    problem = Problem(
        queries=world.embeddings[test],
        text=world.text,
        n_classes=2,
        n_attributes=2,
        query_ids=world.sample_ids[test],
        pool=world.embeddings[pool],
        pool_ids=world.sample_ids[pool],
        pool_labels=world.labels[pool],
        pool_attributes=world.attributes[pool],
        seed=wanted.seed,
    )
    settings: Mapping[str, Any] = wanted.overrides
    return run_on_pool(make_method(wanted.method, settings), problem)
