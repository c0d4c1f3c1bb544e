"""The bridge: computes one cell with the store on one side and the step on the other."""

import importlib
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import Timeout

from data_catalog.cell import Cell
from data_catalog.code_version import CodeVersions
from data_catalog.content import ContentDigest
from data_catalog.errors import DamagedError
from data_catalog.manifest import Manifest, Parent
from data_catalog.planner import Decision
from data_catalog.runs import now
from data_catalog.store import Store
from tasks.drift import drift_between, metric_changes
from tasks.gpu_slots import gpu_slots
from tasks.step import Output, ShardedOutput, Work

Outcome = Literal["computed", "adopted", "reproduced", "drifted"]
_KEPT_INPUTS = 8
_MEMORY_UNIT = 2**20 if sys.platform == "darwin" else 2**10


@dataclass
class Bridge:
    """Computes cells. The inputs read last are kept, since many cells share them."""

    store: Store
    code: CodeVersions
    run_id: str | None = None
    on_progress: Callable[[Cell, int, int, int], None] = lambda cell, done, total, failed: None
    gpu_slots: int = 1
    _inputs: dict[str, pa.Table] = field(default_factory=dict, repr=False)

    def compute(
        self, decision: Decision, parents: Mapping[str, Manifest], fresh: Mapping[str, Manifest] | None = None
    ) -> "Made":
        """Compute the cell of a `run` decision and commit it; the result of another process is adopted.

        A forced cell is computed from its inputs as this run has made them anew (`fresh`, where they differ from what
        is stored) and compared with the stored artifact, which stays.
        """
        assert decision.key is not None
        cell, stored = decision.cell, decision.manifest
        with self.store.computing(decision.key) as staging:
            other = self._sound(cell.step, decision.key)
            if stored is None and other is not None:
                return Made(other, "adopted")
            others = {} if stored else self._stale_beside(cell, parents)
            draft = self._produce(cell, {**parents, **(fresh or {})} if stored else parents, staging, others)
            if stored is not None and draft.content == stored.content:
                return Made(stored, "reproduced")
            if stored is None:
                # A manifest that is still there is garbled or has lost its file: it makes room for the new one.
                self.store.set_aside(cell.step, decision.key)
            manifest = self._manifest(cell, decision.key, parents, draft, staging)
            if stored is not None:
                difference = drift_between(self.store.read(stored), self.store.read(manifest))
                drift = {"difference": difference, **metric_changes(stored, draft.summary)}
                return Made(stored, "drifted", manifest, drift)
            made = Made(self.store.commit(manifest), "computed")
        for key, output in zip(others, draft.together, strict=True):
            self._keep_beside(key, others[key], cell, parents, output)
        return made

    def _stale_beside(self, cell: Cell, parents: Mapping[str, Manifest]) -> dict[str, Cell]:
        """Return, by key, the cells that the step can make in one go with this one and that are not there yet."""
        closure, contents = self.code.closure(cell.modules), {role: parent.content for role, parent in parents.items()}
        keys = {other.key(closure, contents): other for other in cell.together}
        return {key: other for key, other in keys.items() if self._sound(other.step, key) is None}

    def _keep_beside(self, key: str, cell: Cell, maker: Cell, parents: Mapping[str, Manifest], output: Output) -> None:
        """Commit what was made in one go with another cell, unless a process is making it by itself."""
        with suppress(Timeout), self.store.computing(key, wait=0) as staging:
            self.store.keep_shard(staging, 0, output.table)
            content, rows = self._content(staging)
            self.store.set_aside(cell.step, key)
            draft = _Draft(content, rows, {**output.summary, "made_with": maker.name}, _cost(0.0, 0.0))
            self.store.commit(self._manifest(cell, key, parents, draft, staging))

    def _manifest(
        self, cell: Cell, key: str, parents: Mapping[str, Manifest], draft: "_Draft", staging: Path
    ) -> Manifest:
        return Manifest(
            key=key,
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

    def _produce(
        self, cell: Cell, parents: Mapping[str, Manifest], staging: Path, others: Mapping[str, Cell]
    ) -> "_Draft":
        """Have the step make its table, as one shard or many, in the staging folder, and those of other cells."""
        kept = {number: pq.read_metadata(path).num_rows for number, path in self.store.resumed_shards(staging).items()}
        work = Work(
            inputs={role: self._read(parent) for role, parent in parents.items()},
            params=cell.params,
            facts=cell.facts,
            resources=cell.resources,
            kept=kept,
            together=[other.params for other in others.values()],
            progress=lambda done, total, failed: self.on_progress(cell, done, total, failed),
        )
        step = importlib.import_module(cell.modules[0])
        with gpu_slots(self.store.home, work.resources.get("device", "cpu"), self.gpu_slots):
            wall, cpu = time.perf_counter(), time.process_time()
            output: Output | ShardedOutput = step.compute(work)
            shards = output.shards if isinstance(output, ShardedOutput) else iter([(0, output.table)])
            for number, table in shards:
                self.store.keep_shard(staging, number, table)
        cost = _cost(time.perf_counter() - wall, time.process_time() - cpu)
        content, rows = self._content(staging)
        together = output.together if isinstance(output, Output) else ()
        return _Draft(content, rows, output.summary, cost, together)

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
        content = manifest.content
        if content in self._inputs:
            self._inputs[content] = self._inputs.pop(content)
        else:
            self._inputs[content] = self.store.read(manifest)
            while len(self._inputs) > _KEPT_INPUTS:
                del self._inputs[next(iter(self._inputs))]
        return self._inputs[content]


@dataclass(frozen=True)
class Made:
    """The artifact that a cell stands for, and how it came about; `draft` and `drift` where a forced rerun differs."""

    manifest: Manifest
    outcome: Outcome
    draft: Manifest | None = None
    drift: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Draft:
    """What a step has made, before it is committed."""

    content: str
    rows: int
    summary: Mapping[str, Any]
    cost: Mapping[str, Any]
    together: Sequence[Output] = ()


def _cost(seconds: float, cpu_seconds: float) -> dict[str, float]:
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEMORY_UNIT,
    }
