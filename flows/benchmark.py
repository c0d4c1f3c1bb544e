"""The benchmark: brings a set of cells up to date, computing only what is stale."""

import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from dat_lib.datasets.downloading import DOWNLOADABLE, download
from dat_lib.datasets.locating import DatasetNotFoundError
from data_catalog.cell import Cell
from data_catalog.code_version import CodeVersions
from data_catalog.errors import DamagedError, StoreError, UserError
from data_catalog.index import update_index
from data_catalog.manifest import Manifest
from data_catalog.planner import Decision, Planner, in_order
from data_catalog.runs import RunRecord, recorded_run
from data_catalog.store import Store
from tasks.bridge import Bridge

_FAILED = ("failed", "blocked")


@dataclass(frozen=True)
class CellOutcome:
    """What came of one cell: computed, adopted, up to date, reproduced, drifted, failed or blocked."""

    cell: Cell
    outcome: str
    reason: str
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class BenchmarkResult:
    """A finished run."""

    run_id: str
    outcomes: list[CellOutcome]

    @property
    def failed(self) -> list[CellOutcome]:
        """Cells that failed, and those that could not run because an input failed."""
        return [outcome for outcome in self.outcomes if outcome.outcome in _FAILED]


def run_benchmark(
    cells: Iterable[Cell],
    store: Store,
    *,
    request: str,
    command: str = "run",
    force: bool = False,
    on_outcome: Callable[[CellOutcome], None] = lambda outcome: None,
    on_start: Callable[[Cell], None] = lambda cell: None,
    on_progress: Callable[[Cell, int, int], None] = lambda cell, done, total: None,
) -> BenchmarkResult:
    """Bring every cell up to date, inputs first. A cell that fails stops only what needs it.

    Each artifact is committed as it is finished, so a run may be stopped at any moment and goes on where it was.
    """
    # Kept in the result's notes and shown with its number.
    warnings.filterwarnings("ignore", message=".*too few references and can never win")
    try:
        with recorded_run(store.home, command, request=request, force=force) as record:
            run = _Run(store, record, force, on_start, on_outcome, on_progress)
            for cell in in_order(cells):
                run.settle(cell)
            record.end("failed" if any(outcome.outcome in _FAILED for outcome in run.outcomes.values()) else "done")
    finally:
        # The index is derived: where it cannot be written, readers answer from the manifests.
        with suppress(StoreError):
            update_index(store.home)
    return BenchmarkResult(record.run_id, list(run.outcomes.values()))


@dataclass
class _Run:
    store: Store
    record: RunRecord
    force: bool
    on_start: Callable[[Cell], None]
    on_outcome: Callable[[CellOutcome], None]
    on_progress: Callable[[Cell, int, int], None]
    outcomes: dict[str, CellOutcome] = field(default_factory=dict)
    cells: dict[str, Cell] = field(default_factory=dict)
    manifests: dict[str, Manifest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        code = CodeVersions()
        self.planner = Planner(self.store, code, forced=lambda cell: self.force)
        self.bridge = Bridge(self.store, code, self.record.run_id, self.on_progress)

    def settle(self, cell: Cell) -> None:
        """Decide about a cell whose inputs are settled, compute it if need be, and note what came of it."""
        self.cells[cell.name] = cell
        failed = [role for role, name in cell.parents.items() if name not in self.manifests]
        if failed:
            self._note(Decision(cell, "run", f"input: {', '.join(failed)}"), "blocked", error="an input failed")
            return
        decision = self.planner.decide(cell, self._parents(cell))
        if decision.action == "up to date" and decision.manifest is not None:
            self.manifests[cell.name] = decision.manifest
            self._note(decision, "up to date")
            return
        self.on_start(cell)
        started = time.perf_counter()
        try:
            manifest, outcome = self._compute(decision)
        except StoreError:
            raise
        except Exception as error:
            self._note(decision, "failed", time.perf_counter() - started, _explain(error))
            return
        self.manifests[cell.name] = manifest
        self._note(decision, outcome, time.perf_counter() - started)

    def _compute(self, decision: Decision) -> tuple[Manifest, str]:
        """Compute a cell, after healing each damaged input and fetching a dataset that is not there."""
        for _ in decision.cell.parents:
            try:
                return self.bridge.compute(decision, self._parents(decision.cell))
            except DamagedError as damage:
                self._heal(decision.cell, damage)
        try:
            return self.bridge.compute(decision, self._parents(decision.cell))
        except DatasetNotFoundError as absent:
            self._fetch(decision.cell, absent)
            return self.bridge.compute(decision, self._parents(decision.cell))

    def _fetch(self, cell: Cell, absent: DatasetNotFoundError) -> None:
        """Download a public dataset that is not there; others are the user's to bring."""
        kind = str(cell.params["loader"]).rpartition(".")[2]
        if kind not in DOWNLOADABLE:
            raise absent
        download(kind, cell.resources["root"], progress=lambda done, total: self.on_progress(cell, done, total or done))

    def _heal(self, cell: Cell, damage: DamagedError) -> None:
        """Set a damaged input aside and compute it again, so that the cell can go on."""
        for name in cell.parents.values():
            manifest = self.manifests[name]
            if (manifest.step, manifest.key) == (damage.step, damage.key):
                for file in manifest.files:
                    self.store.set_aside(damage.step, damage.key, file)
                self.settle(self.cells[name])
                if self.manifests[name].content != manifest.content:
                    raise UserError(f"{name} came out differently when it was healed", remedy="run again") from damage

    def _parents(self, cell: Cell) -> dict[str, Manifest]:
        return {role: self.manifests[name] for role, name in cell.parents.items()}

    def _note(self, decision: Decision, outcome: str, seconds: float = 0.0, error: str = "") -> None:
        cell = decision.cell
        self.record.decision(
            step=cell.step,
            cell=cell.name,
            address=dict(cell.address),
            action=decision.action,
            reason=decision.reason,
            key=None if outcome in _FAILED else decision.key,
            outcome=outcome,
            seconds=round(seconds, 6),
            error=error or None,
        )
        self.outcomes[cell.name] = CellOutcome(cell, outcome, decision.reason, seconds, error)
        self.on_outcome(self.outcomes[cell.name])


def _explain(error: Exception) -> str:
    """Return a person's mistake as its message, and a fault of ours with the place it happened."""
    if isinstance(error, (UserError, ValueError)):
        return str(error)
    return "".join(traceback.format_exception(error)).strip()
