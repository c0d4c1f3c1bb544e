"""A store of any size, filled without computing: the real cells of a large suite, with tiny tables for results.

Cells, keys and manifests are those the commands make. Only the tables are small, and nothing is forced to the disk.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pyarrow as pa

from data_catalog.cell import Cell
from data_catalog.code_version import CodeVersions
from data_catalog.content import content_digest
from data_catalog.home import Home
from data_catalog.manifest import Manifest, Parent
from data_catalog.planner import Planner, in_order
from data_catalog.runs import now
from data_catalog.specs.collection import Specs
from data_catalog.store import Store
from tasks.experiments import Selection, select
from tasks.graph import Graph

SUITE = "many"
CELLS_PER_DATASET = 303  # 3 of embeddings, then predictions and metrics of 150 experiments
_DATASET = 'prompts = "simbirds"\n[source]\nkind = "simulated"\nsettings = {{ seed = {seed} }}\n'
_SUITE = """
[[grid]]
datasets = {datasets}
backbones = ["simclip"]
methods = ["zero_shot", "group_prompt", "ideal_words", "tie", "tie_star", "zero_shot_centred"]
seeds = [0, 1, 2, 3, 4]

[[grid]]
datasets = {datasets}
backbones = ["simclip"]
methods = ["zero_shot_whitened", "group_prompt_whitened"]
seeds = [0, 1, 2]
set = {{ ridge = {ridges} }}
"""


@dataclass
class SyntheticStore:
    """A temporary `DAT_HOME` with a specs folder of its own."""

    root: Path
    code: CodeVersions = field(default_factory=CodeVersions)

    @property
    def home(self) -> Home:
        return Home(self.root / "home")

    @property
    def environment(self) -> dict[str, str]:
        """The variables under which `dat` works on this store."""
        return {**os.environ, "DAT_HOME": str(self.home.root), "DAT_SPECS": str(self.root / "specs")}

    def write_specs(self, cells: int) -> None:
        """Write a suite of at least this many cells: copies of the simulated dataset, swept settings, seeds."""
        names = [f"simbirds-{number}" for number in range(-(-cells // CELLS_PER_DATASET))]
        for number, name in enumerate(names):
            self._write(f"datasets/{name}.toml", _DATASET.format(seed=number))
        ridges = [round(0.001 * step, 3) for step in range(1, 21)]
        self._write(f"suites/{SUITE}.toml", _SUITE.format(datasets=names, ridges=ridges))
        self._write("methods/zero_shot_whitened.toml", '[defaults]\ntext_covariance = "image"\n')

    def cells(self) -> list[Cell]:
        """Return the cells of the suite, inputs first."""
        with patch.dict(os.environ, self.environment):
            specs = Specs.from_environment(self.home)
            experiments, _ = select(Selection(SUITE), specs)
            return in_order(Graph(specs).cells(experiments))

    def publish(self, limit: int | None = None) -> Iterator[Manifest]:
        """Commit tiny artifacts of the first `limit` cells, one each time the next is asked for."""
        self.home.prepare()
        store = Store(self.home)
        planner = Planner(store, self.code)
        done: dict[str, Manifest] = {}
        for cell in islice(self.cells(), limit):
            parents = {role: done[name] for role, name in cell.parents.items()}
            key = planner.decide(cell, parents).key
            assert key is not None
            with patch("os.fsync"):
                done[cell.name] = self._commit(store, cell, key, parents)
            yield done[cell.name]

    def _commit(self, store: Store, cell: Cell, key: str, parents: dict[str, Manifest]) -> Manifest:
        table = _table(cell, int(key[:8], 16))
        staging = self.home.staging / "synthetic"
        staging.mkdir(exist_ok=True)
        groups = table.to_pylist() if cell.step == "metrics" else []
        accuracies = [group["accuracy"] for group in groups]
        summary = {
            "wg": min(accuracies, default=0.0),
            "avg": max(accuracies, default=0.0),
            "avg_adjusted": max(accuracies, default=0.0),
            "gap": max(accuracies, default=0.0) - min(accuracies, default=0.0),
            "samples": 400,
            "groups": groups,
        }
        store.keep_shard(staging, 0, table)
        manifest = Manifest(
            key=key,
            step=cell.step,
            cell=cell.name,
            address=cell.address,
            code=self.code.closure(cell.modules),
            params=cell.canonical_params,
            facts=cell.canonical_facts,
            parents={role: Parent(parent.key, parent.content) for role, parent in parents.items()},
            content=content_digest(table),
            rows=table.num_rows,
            files=store.add_shards(cell.step, staging),
            created=now(),
            summary=summary if groups else {},
            cost={"seconds": 0.01, "cpu_seconds": 0.01, "peak_memory_mb": 100.0},
        )
        return store.commit(manifest)

    def _write(self, name: str, text: str) -> None:
        path = self.root / "specs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _table(cell: Cell, number: int) -> pa.Table:
    """Return a table that no other cell has, in the columns that the views read."""
    if cell.step == "metrics":
        correct = [number >> (8 * place) & 63 for place in range(4)]
        return pa.table(
            {
                "group": ["landbird, land", "landbird, water", "waterbird, land", "waterbird, water"],
                "label": [0, 0, 1, 1],
                "attribute": [0, 1, 0, 1],
                "correct": correct,
                "total": [100] * 4,
                "accuracy": [float(count) for count in correct],
            }
        )
    return pa.table(
        {
            "sample_id": [cell.name],
            "label": pa.array([0], pa.int32()),
            "attribute": pa.array([0], pa.int32()),
            "prediction": pa.array([number % 2], pa.int32()),
            "margin": [number / 2**32],
        }
    )


@contextmanager
def synthetic_store(cells: int) -> Iterator[SyntheticStore]:
    """Give a store with the specs of a suite of at least `cells` cells, and nothing published yet."""
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        store = SyntheticStore(Path(folder))
        store.write_specs(cells)
        yield store
