"""A run: plan, settle what is stale, keep the record. How the work is carried out is for an `Executor` to say."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from data_catalog.errors import StoreError
from data_catalog.index.database import update_index
from data_catalog.planning.cell import Cell
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.planner import Decision, Planner, in_order
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest
from data_catalog.store.runs import RunRecord, recorded_run
from tasks.engine.batches import Batch, batches
from tasks.engine.events import CellOutcome, Silence, Watcher, watching
from tasks.engine.execution import Order, Settled, Settler


@dataclass(frozen=True)
class BenchmarkResult:
    """A finished run."""

    run_id: str
    outcomes: list[CellOutcome]

    @property
    def failed(self) -> list[CellOutcome]:
        """Cells that failed, and those that could not run because an input failed."""
        return [outcome for outcome in self.outcomes if outcome.failed]

    @property
    def drifted(self) -> list[CellOutcome]:
        """Cells of a forced rerun that came out differently."""
        return [outcome for outcome in self.outcomes if outcome.outcome == "drifted"]


@dataclass
class Run:
    """A run under way: it keeps the record and knows what each settled cell stands for. Safe to tell from threads."""

    order: Order
    cells: list[Cell]
    decisions: list[Decision]
    record: RunRecord
    watcher: Watcher
    outcomes: dict[str, CellOutcome] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)
    _stopping: Event = field(default_factory=Event, repr=False)

    @property
    def stale(self) -> list[Decision]:
        """What the plan says is to be done, or may be once its inputs are there."""
        return [decision for decision in self.decisions if decision.action != "up to date"]

    def result(self) -> BenchmarkResult:
        """Return what has come of the cells that are settled."""
        settled = [self.outcomes[cell.name] for cell in self.cells if cell.name in self.outcomes]
        return BenchmarkResult(self.order.run_id, settled)

    def stages(self) -> dict[str, list[list[Batch]]]:
        """Return the stale cells by stage, in waves of batches."""
        return batches(self.cells, {decision.cell.name for decision in self.stale})

    def keys(self, batch: Batch) -> dict[str, str]:
        """Return the keys of the artifacts that a batch needs; cells that failed have none."""
        settled = {cell.name: self.outcomes[cell.name].key for cell in batch.needed if cell.name in self.outcomes}
        return {name: key for name, key in settled.items() if key is not None}

    def drafts(self, batch: Batch) -> dict[str, Manifest]:
        """Return what drifted reruns of the cells that a batch needs have made."""
        told = {cell.name: self.outcomes.get(cell.name) for cell in batch.needed}
        return {name: outcome.draft for name, outcome in told.items() if outcome and outcome.draft}

    def stop(self) -> None:
        """Have the threads of this process that work for the run end at the next occasion."""
        self._stopping.set()

    def started(self, cell: Cell) -> None:
        """Pass it on."""
        self._end_if_stopped()
        self.watcher.started(cell)

    def progressed(self, cell: Cell, done: int, total: int, failed: int) -> None:
        """Pass it on."""
        self._end_if_stopped()
        self.watcher.progressed(cell, done, total, failed)

    def know(self, decisions: Iterable[Decision]) -> None:
        """Keep the record of cells that the plan found up to date, all at once, and pass it on."""
        known = [CellOutcome(one.cell, "up to date", "up to date", "", one.key) for one in decisions]
        with self._lock:
            self.record.decisions(map(_fields, known))
            self.outcomes |= {outcome.cell.name: outcome for outcome in known}
        for outcome in known:
            self.watcher.settled(outcome)

    def settled(self, outcome: CellOutcome) -> None:
        """Keep the record of a cell and pass it on. That one settled before is still up to date is no news."""
        name = outcome.cell.name
        with self._lock:
            if outcome.outcome == "up to date" and name in self.outcomes:
                return
            self.record.decisions([_fields(outcome)])
            self.outcomes[name] = outcome
        self.watcher.settled(outcome)

    def _end_if_stopped(self) -> None:
        if self._stopping.is_set():
            raise KeyboardInterrupt

    def take(self, settled: Settled) -> None:
        """Keep the record of a batch that was settled, where it was not kept as it went on."""
        if not settled.told:
            for outcome in settled.outcomes:
                self.settled(outcome)


def _fields(outcome: CellOutcome) -> dict[str, Any]:
    """Return what the record of a run says of a cell."""
    cell = outcome.cell
    return {
        "step": cell.step,
        "cell": cell.name,
        "address": dict(cell.address),
        "action": outcome.action,
        "reason": outcome.reason,
        "key": outcome.key,
        "outcome": outcome.outcome,
        "seconds": round(outcome.seconds, 6),
        "error": outcome.error or None,
        **outcome.drift,
    }


Executor = Callable[[Run], None]


def in_turn(run: Run) -> None:
    """Settle everything in this thread, one cell after the other."""
    settler = Settler(run.order, run)
    for decision in run.decisions:
        if decision.action == "up to date":
            settler.know(decision.cell, decision.manifest)
        else:
            settler.settle(decision.cell)


def run_benchmark(
    cells: Iterable[Cell],
    store: Store,
    *,
    request: str,
    command: str = "run",
    force: bool = False,
    gpu_slots: int = 1,
    execute: Executor = in_turn,
    watcher: Watcher | None = None,
    code: CodeVersions | None = None,
) -> BenchmarkResult:
    """Bring every cell up to date, inputs first. A cell that fails stops only what needs it.

    Each artifact is committed as it is finished, so a run may be stopped at any moment and goes on where it was.
    """
    cells = in_order(cells)
    try:
        with recorded_run(store.home, command, request=request, force=force) as record:
            decisions = Planner(store, code or CodeVersions(), forced=lambda cell: force).plan(cells)
            order = Order(store.home, record.run_id, force, gpu_slots)
            run = Run(order, cells, decisions, record, watcher or Silence())
            with watching(record.run_id, run):
                run.know(decision for decision in decisions if decision.action == "up to date")
                if run.stale:
                    execute(run)
            result = run.result()
            record.end("failed" if result.failed else "done")
    finally:
        # The index is derived: where it cannot be written, readers answer from the manifests.
        with suppress(StoreError):
            update_index(store.home)
    return result


def counts(outcomes: Iterable[CellOutcome]) -> Mapping[str, int]:
    """Return how many cells came out how."""
    found: dict[str, int] = {}
    for outcome in outcomes:
        found[outcome.outcome] = found.get(outcome.outcome, 0) + 1
    return found
