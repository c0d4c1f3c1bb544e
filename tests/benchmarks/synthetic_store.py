"""A store of any size, filled without computing: the real cells of a large suite, with tiny tables for results.

Cells, keys and manifests are those the commands make. Only the tables are not: all those of a step are one tiny file
under many names, and nothing is forced to the disk.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from data_catalog.canonical import digest_text
from data_catalog.home import Home
from data_catalog.index.step_views import STEP_VIEWS
from data_catalog.planning.cell import Cell
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.planner import Planner, in_order
from data_catalog.specs.collection import Specs
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest, Parent, StoredFile
from data_catalog.store.runs import now
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph

SUITE = "many"
CELLS_PER_DATASET = 353  # 3 of embeddings, then predictions and metrics of 150 experiments, and 50 comparisons
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
    suite: str = SUITE
    code: CodeVersions = field(default_factory=CodeVersions)
    _linked: dict[str, int] = field(default_factory=dict)

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
            experiments, _ = select(Selection(self.suite), specs)
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
            done[cell.name] = self._commit(store, cell, key, parents)
            yield done[cell.name]

    def _commit(self, store: Store, cell: Cell, key: str, parents: dict[str, Manifest]) -> Manifest:
        """Write a manifest as the store does, and give the one tiny file of the step another name."""
        table = self._table_of(cell.step)
        path = self.home.objects / cell.step / f"{key}.parquet"
        os.link(table, path)
        accuracies = [float(int(key[place : place + 2], 16) % 100) for place in range(0, 8, 2)]
        manifest = Manifest(
            key=key,
            step=cell.step,
            cell=cell.name,
            address=cell.address,
            code=self.code.closure(cell.modules),
            params=cell.canonical_params,
            facts=cell.canonical_facts,
            parents={role: Parent(parent.key, parent.content) for role, parent in parents.items()},
            content=digest_text(key),
            rows=1,
            files=(StoredFile(str(path.relative_to(self.home.root)), key, table.stat().st_size, 1),),
            created=now(),
            summary=_summary(accuracies) if cell.step == "metrics" else {},
            cost={"seconds": 0.01, "cpu_seconds": 0.01, "peak_memory_mb": 100.0},
        )
        place = store.manifest_path(cell.step, key)
        place.parent.mkdir(exist_ok=True)
        place.write_text(manifest.to_json(), encoding="utf-8")
        return manifest

    def _table_of(self, step: str) -> Path:
        """Return the file whose other names are the tables of a step: its links may not be more than 65,000."""
        folder = self.home.objects / step
        number = self._linked.get(step, 0)
        self._linked[step] = number + 1
        path = self.root / f"{step}-{number // 50_000}.parquet"
        if not path.exists():
            folder.mkdir(exist_ok=True)
            pq.write_table(_table(step), path)
        return path

    def _write(self, name: str, text: str) -> None:
        path = self.root / "specs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _summary(accuracies: list[float]) -> dict[str, object]:
    """Return what the metrics of four groups come to, in the fields that the views read."""
    names = ("landbird, land", "landbird, water", "waterbird, land", "waterbird, water")
    groups = [
        {"group": name, "label": place // 2, "attribute": place % 2, "correct": 0, "total": 100, "accuracy": accuracy}
        for place, (name, accuracy) in enumerate(zip(names, accuracies, strict=True))
    ]
    worst, average = min(accuracies), sum(accuracies) / len(accuracies)
    numbers = {"wg": worst, "avg": average, "avg_adjusted": average, "gap": average - worst}
    return {**numbers, "samples": 400, "groups": groups}


def _table(step: str) -> pa.Table:
    """Return a table of one row, in the columns that the views read."""
    if step == "metrics":
        return pa.table(
            {"group": [""], "label": [0], "attribute": [0], "correct": [0], "total": [1], "accuracy": [0.0]}
        )
    if step in STEP_VIEWS:
        columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in STEP_VIEWS[step].types.items())
        return duckdb.sql(f"SELECT {columns}").to_arrow_table()
    return predictions_table(1, 0)


def predictions_table(rows: int, seed: int) -> pa.Table:
    """Return predictions of a binary method as the step writes them."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, rows).astype(np.int32)
    return pa.table(
        {
            "sample_id": [f"{number:07d}.jpg" for number in range(rows)],
            "label": labels,
            "attribute": rng.integers(0, 2, rows).astype(np.int32),
            "prediction": np.where(rng.random(rows) < 0.9, labels, 1 - labels),
            "margin": rng.normal(size=rows),
        }
    )


@contextmanager
def synthetic_store(cells: int, suite: str = SUITE) -> Iterator[SyntheticStore]:
    """Give a store with nothing in it and the specs of a suite of at least `cells` cells; `suite` may be ours."""
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        store = SyntheticStore(Path(folder), suite)
        store.write_specs(cells)
        yield store
