"""The bridge: computes one cell with the store on one side and the step on the other."""

import importlib
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import Timeout

from dat_lib.applicability import NotApplicableError
from data_catalog.errors import DamagedError
from data_catalog.planning.cell import Cell
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.planner import Decision
from data_catalog.store.artifacts import Store
from data_catalog.store.content import ContentDigest
from data_catalog.store.manifest import Manifest, Parent, StoredFile
from data_catalog.store.runs import now
from data_catalog.store.stored_table import StoredTable
from tasks.engine.drift import drift_between, metric_changes
from tasks.engine.empty_artifact import NOT_APPLICABLE, empty_content, empty_table, inherited_reason, reason_of
from tasks.engine.gpu_slots import gpu_slots
from tasks.engine.resource_settings import at_least
from tasks.engine.shard_reuse import bring_shards, shard_keys
from tasks.step import Output, ShardedOutput, Work

Outcome = Literal["computed", "adopted", "not applicable", "reproduced", "drifted"]
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
    _inputs: dict[tuple[str, tuple[StoredFile, ...]], pa.Table | StoredTable] = field(default_factory=dict, repr=False)

    def compute(
        self, decision: Decision, parents: Mapping[str, Manifest], fresh: Mapping[str, Manifest] | None = None
    ) -> "Made":
        """Compute the cell of a `run` decision and commit it; the result of another process is adopted.

        A forced cell is computed from its inputs as this run has made them anew (`fresh`, where they differ from what
        is stored) and compared with the stored artifact, which stays.
        """
        assert decision.key is not None
        cell, stored = decision.cell, decision.manifest
        with self.store.computing(decision.key) as staging, ExitStack() as held:
            other = self._sound(cell.step, decision.key)
            if stored is None and other is not None:
                return Made(other, "not applicable" if reason_of(other) else "adopted")
            beside = [] if stored else list(self._stale_beside(cell, parents, held))
            places = [_Place(decision.key, cell, staging), *beside]
            given = {**parents, **(fresh or {})} if stored else parents
            draft, *others = self._produce(places, given, reuse=stored is None)
            if stored is None:
                manifest = self._commit(places[0], parents, draft)
                made = Made(manifest, "not applicable" if reason_of(manifest) else "computed")
                for place, output in zip(beside, others, strict=True):
                    summary = {**output.summary, "made_with": cell.name}
                    self._commit(place, parents, replace(output, summary=summary, cost=_cost(0.0, 0.0)))
                return made
            if draft.content == stored.content:
                return Made(stored, "reproduced")
            manifest = self._manifest(places[0], parents, draft)
            difference = drift_between(self.store.read(stored), self.store.read(manifest))
            drift = {"difference": difference, **metric_changes(stored, draft.summary)}
            return Made(stored, "drifted", manifest, drift)

    def _stale_beside(self, cell: Cell, parents: Mapping[str, Manifest], held: ExitStack) -> Iterator["_Place"]:
        """Yield the cells that the step can make in one go with this one, that are not there, and that nobody makes.

        Their locks are `held` meanwhile.
        """
        code, contents = self.code.version(cell.modules), {role: parent.content for role, parent in parents.items()}
        for other in cell.together:
            key = other.key(code, contents)
            if self._sound(other.step, key) is None:
                with suppress(Timeout):
                    staging = held.enter_context(self.store.computing(key, wait=0))
                    if self._sound(other.step, key) is None:  # nobody has been quicker
                        yield _Place(key, other, staging)

    def _commit(self, place: "_Place", parents: Mapping[str, Manifest], draft: "_Draft") -> Manifest:
        # A manifest that is still there is garbled or has lost its file: it makes room for the new one.
        self.store.set_aside(place.cell.step, place.key)
        return self.store.commit(self._manifest(place, parents, draft))

    def _manifest(self, place: "_Place", parents: Mapping[str, Manifest], draft: "_Draft") -> Manifest:
        cell = place.cell
        return Manifest(
            key=place.key,
            step=cell.step,
            cell=cell.name,
            address=cell.address,
            code=self.code.closure(cell.modules),
            params=cell.canonical_params,
            facts=cell.canonical_facts,
            parents={role: Parent(parent.key, parent.content) for role, parent in parents.items()},
            content=draft.content,
            rows=draft.rows,
            files=self.store.add_shards(cell.step, place.staging),
            created=now(),
            run_id=self.run_id,
            summary=draft.summary,
            cost=draft.cost,
            resources=cell.resources,
        )

    def _produce(self, places: Sequence["_Place"], parents: Mapping[str, Manifest], *, reuse: bool) -> list["_Draft"]:
        """Have the step of the first cell make the tables of all, as one shard or many, in their staging folders.

        With `reuse`, shards that an earlier artifact has are not made again.
        """
        reason = inherited_reason(parents)
        if reason:
            return self._leave_empty(places, reason, _cost(0.0, 0.0))
        cell, *others = (place.cell for place in places)
        step = importlib.import_module(cell.modules[0])
        in_parts = getattr(step, "IN_PARTS", ())
        inputs = {role: self._read(parent, in_parts=role in in_parts) for role, parent in parents.items()}
        keys = shard_keys(cell, step, self.code.version(cell.modules), parents, inputs)
        reused = bring_shards(self.store, cell.step, keys, places[0].staging) if reuse else 0
        work = Work(
            inputs=inputs,
            params=cell.params,
            facts=cell.facts,
            resources=cell.resources,
            kept=self._resumed([place.staging for place in places]),
            together=[other.params for other in others],
            progress=lambda done, total, failed: self.on_progress(cell, done, total, failed),
        )
        with gpu_slots(self.store.home, work.resources.get("device", "cpu"), self.gpu_slots):
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                output: Output | ShardedOutput = step.compute(work)
            except NotApplicableError as error:
                cost = _cost(time.perf_counter() - wall, time.process_time() - cpu)
                return self._leave_empty(places, str(error), cost)
            for number, *tables in _shards(output):
                for place, table in zip(places, tables, strict=True):
                    self.store.keep_shard(place.staging, number, table)
        cost = _cost(time.perf_counter() - wall, time.process_time() - cpu)
        shards = {"shard_keys": keys, "reused_shards": reused} if keys else {}
        summaries = [{**output.summary, **shards}, *(_summary(other) for other in output.together)]
        contents = [self._content(place.staging) for place in places]
        return [
            _Draft(content, rows, summary, cost) for (content, rows), summary in zip(contents, summaries, strict=True)
        ]

    def _leave_empty(self, places: Sequence["_Place"], reason: str, cost: Mapping[str, Any]) -> list["_Draft"]:
        """Make artifacts without rows that say why there are none."""
        for place in places:
            self.store.keep_shard(place.staging, 0, empty_table(place.cell.step))
        return [_Draft(empty_content(reason), 0, {NOT_APPLICABLE: reason}, cost) for _ in places]

    def _resumed(self, folders: Sequence[Path]) -> dict[int, int]:
        """Return {number: rows} of the shards that interrupted attempts have left in every one of the folders."""
        first, *others = (self.store.resumed_shards(folder) for folder in folders)
        common = {number: path for number, path in first.items() if all(number in other for other in others)}
        return {number: pq.read_metadata(path).num_rows for number, path in common.items()}

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

    def _read(self, manifest: Manifest, *, in_parts: bool) -> "pa.Table | StoredTable":
        """Return an input: a large one that may be taken in parts as its files, every other as a table in memory."""
        left_in_files = in_parts and manifest.bytes > _read_whole()
        wanted = (manifest.content, manifest.files if left_in_files else ())
        if wanted in self._inputs:
            self._inputs[wanted] = self._inputs.pop(wanted)
        else:
            self._inputs[wanted] = StoredTable(self.store, manifest) if left_in_files else self.store.read(manifest)
            while len(self._inputs) > _KEPT_INPUTS:
                del self._inputs[next(iter(self._inputs))]
        return self._inputs[wanted]


@dataclass(frozen=True)
class Made:
    """The artifact that a cell stands for, and how it came about; `draft` and `drift` where a forced rerun differs."""

    manifest: Manifest
    outcome: Outcome
    draft: Manifest | None = None
    drift: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    """A cell that is being made, and where its shards gather."""

    key: str
    cell: Cell
    staging: Path


@dataclass(frozen=True)
class _Draft:
    """What a step has made, before it is committed."""

    content: str
    rows: int
    summary: Mapping[str, Any]
    cost: Mapping[str, Any]


def _shards(output: Output | ShardedOutput) -> Iterator[tuple[int, *tuple[pa.Table, ...]]]:
    if isinstance(output, ShardedOutput):
        return output.shards
    return iter([(0, output.table, *(other.table for other in output.together))])


def _summary(other: Output | Mapping[str, Any]) -> Mapping[str, Any]:
    return other.summary if isinstance(other, Output) else other


def _read_whole() -> int:
    """Return the bytes up to which an input is read whole, although the step could take it in parts."""
    return at_least(0, "DAT_INPUT_MEMORY", 1024) * 2**20


def _cost(seconds: float, cpu_seconds: float) -> dict[str, float]:
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEMORY_UNIT,
    }
