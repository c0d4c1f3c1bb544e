"""The bridge: computes one cell with the store on one side and the step on the other."""

import importlib
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from data_catalog.cell import Cell
from data_catalog.code_version import CodeVersions
from data_catalog.content import ContentDigest
from data_catalog.errors import DamagedError
from data_catalog.manifest import Manifest, Parent
from data_catalog.planner import Decision
from data_catalog.runs import now
from data_catalog.store import Store
from tasks.step import Output, ShardedOutput, Work

Outcome = Literal["computed", "adopted", "reproduced", "drifted"]
_KEPT_INPUTS = 4
_MEMORY_UNIT = 2**20 if sys.platform == "darwin" else 2**10


@dataclass
class Bridge:
    """Computes cells. The inputs read last are kept, since many cells share them."""

    store: Store
    code: CodeVersions
    run_id: str | None = None
    on_progress: Callable[[Cell, int, int], None] = lambda cell, done, total: None
    _inputs: dict[str, pa.Table] = field(default_factory=dict, repr=False)

    def compute(self, decision: Decision, parents: Mapping[str, Manifest]) -> tuple[Manifest, Outcome]:
        """Compute the cell of a `run` decision and commit it; the result of another process is adopted."""
        assert decision.key is not None
        cell, forced = decision.cell, decision.manifest
        with self.store.computing(decision.key) as staging:
            other = self._sound(cell.step, decision.key)
            if forced is None and other is not None:
                return other, "adopted"
            draft = self._produce(cell, parents, staging)
            if forced is not None:
                return forced, "reproduced" if draft.content == forced.content else "drifted"
            # A manifest that is still there is garbled or has lost its file: it makes room for the new one.
            self.store.set_aside(cell.step, decision.key)
            manifest = Manifest(
                key=decision.key,
                step=cell.step,
                cell=cell.name,
                address=cell.address,
                code=self.code.closure(cell.modules),
                params=cell.canonical_params,
                facts=cell.canonical_facts,
                parents={role: Parent(parent.key, parent.content) for role, parent in parents.items()},
                content=draft.content,
                rows=draft.rows,
                files=self.store.add_shards(cell.step, staging),
                created=now(),
                run_id=self.run_id,
                summary=draft.summary,
                cost=draft.cost,
                resources=cell.resources,
            )
            return self.store.commit(manifest), "computed"

    def _produce(self, cell: Cell, parents: Mapping[str, Manifest], staging: Path) -> "_Draft":
        """Have the step make its table, as one shard or many, in the staging folder."""
        kept = {number: pq.read_metadata(path).num_rows for number, path in self.store.resumed_shards(staging).items()}
        work = Work(
            inputs={role: self._read(parent) for role, parent in parents.items()},
            params=cell.params,
            facts=cell.facts,
            resources=cell.resources,
            kept=kept,
            progress=lambda done, total: self.on_progress(cell, done, total),
        )
        step = importlib.import_module(cell.modules[0])
        wall, cpu = time.perf_counter(), time.process_time()
        output: Output | ShardedOutput = step.compute(work)
        shards = output.shards if isinstance(output, ShardedOutput) else iter([(0, output.table)])
        for number, table in shards:
            self.store.keep_shard(staging, number, table)
        cost = {
            "seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEMORY_UNIT,
        }
        content, rows = self._content(staging)
        return _Draft(content, rows, output.summary, cost)

    def _content(self, staging: Path) -> tuple[str, int]:
        """Return the digest and number of rows of what lies in the staging folder, read batch by batch."""
        digest: ContentDigest | None = None
        for path in self.store.kept_shards(staging).values():
            file = pq.ParquetFile(path, page_checksum_verification=True)
            digest = digest or ContentDigest(file.schema_arrow)
            for batch in file.iter_batches():
                digest.update(batch)
        assert digest is not None
        return digest.hexdigest(), digest.rows

    def _sound(self, step: str, key: str) -> Manifest | None:
        try:
            manifest = self.store.find(step, key)
        except DamagedError:
            return None
        return manifest if manifest is not None and self.store.absent_file(manifest) is None else None

    def _read(self, manifest: Manifest) -> pa.Table:
        if manifest.key in self._inputs:
            self._inputs[manifest.key] = self._inputs.pop(manifest.key)
        else:
            self._inputs[manifest.key] = self.store.read(manifest)
            while len(self._inputs) > _KEPT_INPUTS:
                del self._inputs[next(iter(self._inputs))]
        return self._inputs[manifest.key]


@dataclass(frozen=True)
class _Draft:
    """What a step has made, before it is committed."""

    content: str
    rows: int
    summary: Mapping[str, Any]
    cost: Mapping[str, Any]
