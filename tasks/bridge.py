"""The bridge: computes one cell with the store on one side and the step on the other."""

import importlib
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from data_catalog.code_version import CodeVersions
from data_catalog.content import content_digest
from data_catalog.errors import DamagedError
from data_catalog.manifest import Manifest, Parent
from data_catalog.planner import Decision
from data_catalog.runs import now
from data_catalog.store import Store
from tasks.step import Output, Work

Outcome = Literal["computed", "adopted", "reproduced", "drifted"]
_KEPT_INPUTS = 4


@dataclass
class Bridge:
    """Computes cells. The inputs read last are kept, since many cells share them."""

    store: Store
    code: CodeVersions
    run_id: str | None = None
    _inputs: dict[str, pa.Table] = field(default_factory=dict, repr=False)

    def compute(self, decision: Decision, parents: Mapping[str, Manifest]) -> tuple[Manifest, Outcome]:
        """Compute the cell of a `run` decision and commit it; the result of another process is adopted."""
        assert decision.key is not None
        cell = decision.cell
        with self.store.computing(decision.key) as staging:
            forced = decision.manifest
            other = self._sound(cell.step, decision.key)
            if forced is None and other is not None:
                return other, "adopted"
            work = Work(
                inputs={role: self._read(parent) for role, parent in parents.items()},
                params=cell.params,
                facts=cell.facts,
                resources=cell.resources,
            )
            output, cost = _measured(cell.step, work)
            content = content_digest(output.table)
            if forced is not None:
                return forced, "reproduced" if content == forced.content else "drifted"
            # A manifest that is still there is garbled or has lost its file: it makes room for the new one.
            self.store.set_aside(cell.step, decision.key)
            file = self.store.add_table(cell.step, output.table, staging)
            manifest = Manifest(
                key=decision.key,
                step=cell.step,
                cell=cell.name,
                address=cell.address,
                code=self.code.closure(cell.modules),
                params=cell.canonical_params,
                facts=cell.canonical_facts,
                parents={role: Parent(parent.key, parent.content) for role, parent in parents.items()},
                content=content,
                rows=output.table.num_rows,
                files=(file,),
                created=now(),
                run_id=self.run_id,
                summary=output.summary,
                cost=cost,
                resources=cell.resources,
            )
            return self.store.commit(manifest), "computed"

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


def _measured(step: str, work: Work) -> tuple[Output, dict[str, Any]]:
    module = importlib.import_module(f"tasks.{step}")
    wall, cpu = time.perf_counter(), time.process_time()
    output: Output = module.compute(work)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return output, {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
    }
