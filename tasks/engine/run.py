"""A run: planned, recorded, and brought to its end by whoever carries it out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from data_catalog.errors import StoreError
from data_catalog.index.database import update_index
from data_catalog.planning.cell import Cell
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.planner import Decision, Planner
from data_catalog.store.artifacts import Store
from data_catalog.store.runs import RunRecord, recorded_run
from tasks.engine.events import CellOutcome, Listener, Silence, current_listener, listening
from tasks.engine.execution import Order, Settled, Settler, code_versions


@dataclass(frozen=True)
class Remark:
    """What is worth knowing of one cell: why it failed, or how far a forced rerun has drifted."""

    cell: str
    outcome: str
    error: str = ""
    drift: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """A finished run in brief: how many cells came out how, which failed or drifted, and where the report is."""

    run_id: str
    counts: Mapping[str, int]
    failed: tuple[Remark, ...] = ()
    drifted: tuple[Remark, ...] = ()
    report: str | None = None

    @property
    def has_made_something(self) -> bool:
        """Whether a stale cell was brought up to date."""
        return any(self.counts.get(outcome) for outcome in _MADE)


_MADE = ("computed", "adopted", "not applicable", "reproduced", "drifted")


@dataclass(frozen=True)
class BenchmarkResult:
    """A finished run, cell by cell."""

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

    def summary(self) -> Summary:
        """Return it in brief."""
        counts = Counter(outcome.outcome for outcome in self.outcomes)
        failed, drifted = (
            tuple(Remark(one.cell.name, one.outcome, one.error, one.drift) for one in found)
            for found in (self.failed, self.drifted)
        )
        return Summary(self.run_id, counts, failed, drifted)


@dataclass
class Run:
    """A run under way: it keeps the record and knows what came of each cell. Threads may tell it at the same time."""

    order: Order
    decisions: list[Decision]
    """About every cell, inputs first."""
    record: RunRecord
    listener: Listener
    outcomes: dict[str, CellOutcome] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)
    _stopping: Event = field(default_factory=Event, repr=False)

    @property
    def stale(self) -> list[Decision]:
        """What the plan says is to be done, or may be once its inputs are there."""
        return [decision for decision in self.decisions if decision.action != "up to date"]

    def result(self) -> BenchmarkResult:
        """Return what has come of the cells until now."""
        settled = [self.outcomes[one.cell.name] for one in self.decisions if one.cell.name in self.outcomes]
        return BenchmarkResult(self.order.run_id, settled)

    def stop(self) -> None:
        """Have the threads of this process that work for the run end at the next occasion."""
        self._stopping.set()

    def started(self, cell: Cell) -> None:
        """Pass it on."""
        self._end_if_stopped()
        self.listener.started(cell)

    def progressed(self, cell: Cell, done: int, total: int, failed: int) -> None:
        """Pass it on."""
        self._end_if_stopped()
        self.listener.progressed(cell, done, total, failed)

    def know(self, decisions: Iterable[Decision]) -> None:
        """Keep the record of cells that the plan found up to date, all at once, and pass it on."""
        known = [CellOutcome(one.cell, "up to date", "up to date", "", one.key) for one in decisions]
        with self._lock:
            self.record.decisions(map(_fields, known))
            self.outcomes |= {outcome.cell.name: outcome for outcome in known}
        for outcome in known:
            self.listener.settled(outcome)

    def settled(self, outcome: CellOutcome) -> None:
        """Keep the record of a cell and pass it on. That one settled before is still up to date is no news."""
        name = outcome.cell.name
        with self._lock:
            if outcome.outcome == "up to date" and name in self.outcomes:
                return
            self.record.decisions([_fields(outcome)])
            self.outcomes[name] = outcome
        self.listener.settled(outcome)

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


def run_in_turn(run: Run) -> None:
    """Bring everything up to date in this thread, one cell after the other."""
    settler = Settler(run.order, [run])
    for decision in run.decisions:
        if decision.action == "up to date":
            settler.know(decision.cell, decision.manifest)
        else:
            settler.settle(decision.cell, decision)


@contextmanager
def open_run(
    cells: Iterable[Cell],
    store: Store,
    *,
    request: str,
    command: str = "run",
    force: bool = False,
    gpu_slots: int = 1,
    code: CodeVersions | None = None,
) -> Iterator[Run]:
    """Plan the cells and give a run to be carried out, which is on record and heard of by the current listener.

    Each artifact is committed as it is finished, so a run may be stopped at any moment and goes on where it was.
    """
    try:
        with recorded_run(store.home, command, request=request, force=force) as record:
            code = code or code_versions(record.run_id)
            decisions = Planner(store, code, forced=lambda cell: force).plan(cells)
            order = Order(store.home, record.run_id, force, gpu_slots)
            run = Run(order, decisions, record, current_listener() or Silence())
            run.know(decision for decision in decisions if decision.action == "up to date")
            with listening(run):
                yield run
            record.end("failed" if run.result().failed else "done")
    finally:
        # The index is derived: where it cannot be written, readers answer from the manifests.
        with suppress(StoreError):
            update_index(store.home)


def run_benchmark(cells: Iterable[Cell], store: Store, **options: Any) -> BenchmarkResult:
    """Bring every cell up to date in this thread, without Prefect. A cell that fails stops only what needs it.

    `options` are those of `open_run`.
    """
    with open_run(cells, store, **options) as run:
        run_in_turn(run)
    return run.result()
