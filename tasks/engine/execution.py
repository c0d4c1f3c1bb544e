"""Settling cells: decide about each once its inputs are there, compute it if need be, and say what came of it."""

import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from dat_lib.datasets.files.locating import DatasetNotFoundError
from data_catalog.errors import DamagedError, StoreError, UserError
from data_catalog.home import Home
from data_catalog.planning.cell import Cell
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.planner import Decision, Planner
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest
from tasks.engine.batches import Batch
from tasks.engine.computation import Bridge
from tasks.engine.empty_artifact import reason_of
from tasks.engine.events import CellOutcome, Listener, current_listener
from tasks.engine.resolution import fetch, resolved


class TransientFaultError(Exception):
    """The network or a GPU's memory failed for the moment: the same work may well succeed a little later."""


@dataclass(frozen=True)
class Order:
    """What a batch is settled for, and where. It travels to other processes, so it is small and plain."""

    home: Home
    run_id: str
    force: bool = False
    gpu_slots: int = 1
    """Cells that may use one GPU at the same time."""


class Settled:
    """What came of a batch. `told` says that the run in this process has heard of it already.

    `keys` are those of all cells, of this batch and of those before it, that have an artifact; `drafts` is what drifted
    reruns have made of them. Like an assignment it is no dataclass: Prefect and Dask would walk through all of it.
    """

    def __init__(
        self, outcomes: Sequence[CellOutcome], told: bool, keys: Mapping[str, str], drafts: Mapping[str, Manifest]
    ) -> None:
        self.outcomes, self.told, self.keys, self.drafts = outcomes, told, keys, drafts

    @property
    def failed(self) -> list[CellOutcome]:
        """Cells that failed, and those that could not run because an input failed."""
        return [outcome for outcome in self.outcomes if outcome.failed]


class Assignment:
    """A batch to be brought up to date, what for and where, and what came of the batches that it depends on."""

    def __init__(self, order: Order, batch: Batch, before: Sequence[Settled] = ()) -> None:
        self.order, self.batch, self.before = order, batch, before


def settle_batch(assignment: Assignment, *, retry: bool = False, listener: Listener | None = None) -> Settled:
    """Bring the cells of a batch up to date in this process. One that fails stops only what needs it.

    A cell that is needed and has no key, neither known nor from before, has failed. `listener` hears what happens
    beside the run's own. With `retry`, a `TransientFaultError` is raised where one would help.
    """
    batch, run = assignment.batch, current_listener()
    keys, drafts = dict(batch.known), dict[str, Manifest]()
    for settled in assignment.before:
        keys |= settled.keys
        drafts |= settled.drafts
    settler = Settler(assignment.order, [one for one in (run, listener) if one is not None], retry)
    for cell in batch.needed:
        settler.recall(cell, keys.get(cell.name), drafts.get(cell.name))
    for decision in batch.decisions:
        settler.settle(decision.cell, decision)
    keys |= {outcome.cell.name: outcome.key for outcome in settler.outcomes if outcome.key is not None}
    drafts |= {outcome.cell.name: outcome.draft for outcome in settler.outcomes if outcome.draft is not None}
    return Settled(settler.outcomes, run is not None, keys, drafts)


@dataclass
class Settler:
    """Settles cells one after the other, inputs first."""

    order: Order
    listeners: Sequence[Listener] = ()
    retry: bool = False
    outcomes: list[CellOutcome] = field(default_factory=list)
    _cells: dict[str, Cell] = field(default_factory=dict)
    _manifests: dict[str, Manifest] = field(default_factory=dict)
    _drafts: dict[str, Manifest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Kept in the result's notes and shown with its number.
        warnings.filterwarnings("ignore", message=".*too few references and can never win")
        self.store, code = Store(self.order.home), code_versions(self.order.run_id)
        self._planner = Planner(self.store, code, forced=lambda cell: self.order.force)
        self._bridge = Bridge(self.store, code, self.order.run_id, self._progressed, self.order.gpu_slots)

    def know(self, cell: Cell, manifest: Manifest | None) -> None:
        """Take note of a cell that was settled before; without a manifest it has failed."""
        self._cells[cell.name] = cell
        if manifest is not None:
            self._manifests[cell.name] = manifest

    def recall(self, cell: Cell, key: str | None, draft: Manifest | None) -> None:
        """Take note of a cell that another process settled. One whose manifest has been damaged since is healed."""
        if draft is not None:
            self._drafts[cell.name] = draft
        manifest = None
        if key is not None:
            with suppress(DamagedError):
                manifest = self.store.find(cell.step, key)
        self.know(cell, manifest)
        if key is not None and manifest is None:
            self.settle(cell)

    def settle(self, cell: Cell, planned: Decision | None = None) -> None:
        """Decide about a cell whose inputs are settled, compute it if need be, and tell what came of it.

        A `planned` decision stands where it could be taken in full: with all inputs there, it has a key.
        """
        self._cells[cell.name] = cell
        failed = [role for role, name in cell.parents.items() if name not in self._manifests]
        if failed:
            undecided = Decision(cell, "run", f"input: {', '.join(failed)}")
            self._tell(undecided, "blocked", error="an input failed")
            return
        started = time.perf_counter()
        decision = planned or Decision(cell, "run", "")
        try:
            if decision.key is None or None in cell.facts.values():
                decision = self._decide(cell)
            else:
                decision = self._planner.confirm(decision)
            if decision.action == "up to date" and decision.manifest is not None:
                self._manifests[cell.name] = decision.manifest
                self._tell(decision, "up to date")
                return
            for listener in self.listeners:
                listener.started(decision.cell)
            self._compute(decision, started)
        except (StoreError, TransientFaultError):
            raise
        except Exception as error:
            if self.retry and is_transient(error):
                raise TransientFaultError(f"{cell.name}: {_explain(error)}") from error
            self._tell(decision, "failed", time.perf_counter() - started, _explain(error))

    def _decide(self, cell: Cell) -> Decision:
        """Decide about a cell, after finding out what the plan could not know of the files that it reads."""
        if None in cell.facts.values():
            for listener in self.listeners:
                listener.started(cell)
            cell = resolved(cell, lambda name, done, total: self._progressed(cell, done, total))
            self._cells[cell.name] = cell
        return self._planner.decide(cell, self._parents(cell))

    def _compute(self, decision: Decision, started: float) -> None:
        """Compute a cell, after healing each damaged input and fetching a dataset that is not there."""
        cell, made = decision.cell, None
        for _ in cell.parents:
            try:
                made = self._bridge.compute(decision, self._parents(cell), self._fresh(cell))
                break
            except DamagedError as damage:
                self._heal(cell, damage)
        if made is None:
            try:
                made = self._bridge.compute(decision, self._parents(cell), self._fresh(cell))
            except DatasetNotFoundError as absent:
                fetch(cell, absent, lambda name, done, total: self._progressed(cell, done, total))
                made = self._bridge.compute(decision, self._parents(cell), self._fresh(cell))
        self._manifests[cell.name] = made.manifest
        if made.draft is not None:
            self._drafts[cell.name] = made.draft
        reason = reason_of(made.manifest) if made.outcome == "not applicable" else ""
        self._tell(decision, made.outcome, time.perf_counter() - started, reason, made.drift, made.draft)

    def _progressed(self, cell: Cell, done: int, total: int, failed: int = 0) -> None:
        for listener in self.listeners:
            listener.progressed(cell, done, total, failed)

    def _heal(self, cell: Cell, damage: DamagedError) -> None:
        """Set a damaged input aside and compute it again, so that the cell can go on."""
        for name in cell.parents.values():
            manifest = self._manifests[name]
            if (manifest.step, manifest.key) == (damage.step, damage.key):
                for file in manifest.files:
                    try:
                        self.store.check(manifest, file)
                    except DamagedError:
                        self.store.set_aside(damage.step, damage.key, file)
                self.settle(self._cells[name])
                if self._manifests[name].content != manifest.content:
                    raise UserError(f"{name} came out differently when it was healed", remedy="run again") from damage

    def _parents(self, cell: Cell) -> dict[str, Manifest]:
        return {role: self._manifests[name] for role, name in cell.parents.items()}

    def _fresh(self, cell: Cell) -> dict[str, Manifest]:
        """Return the inputs that a forced rerun has made anew and that have drifted."""
        return {role: self._drafts[name] for role, name in cell.parents.items() if name in self._drafts}

    def _tell(
        self,
        decision: Decision,
        outcome: str,
        seconds: float = 0.0,
        error: str = "",
        drift: Mapping[str, float | None] | None = None,
        draft: Manifest | None = None,
    ) -> None:
        key = None if outcome in ("failed", "blocked") else decision.key
        told = CellOutcome(
            decision.cell, decision.action, outcome, decision.reason, key, seconds, error, drift or {}, draft
        )
        self.outcomes.append(told)
        for listener in self.listeners:
            listener.settled(told)


def is_transient(error: BaseException) -> bool:
    """Whether the fault, or what caused it, lies with the network or with a GPU's memory."""
    seen: BaseException | None = error
    while seen is not None:
        library, kind = type(seen).__module__.partition(".")[0], type(seen).__name__
        if isinstance(seen, (ConnectionError, TimeoutError)) or library in ("requests", "urllib3"):
            return True
        if library == "torch" and kind == "OutOfMemoryError":
            return True
        seen = seen.__cause__
    return False


@lru_cache(maxsize=1)
def code_versions(run_id: str) -> CodeVersions:
    """Return the code's versions, read once a run and process."""
    return CodeVersions()


def _explain(error: Exception) -> str:
    """Return a person's mistake, or a file's, as its message, and a fault of ours with the place it happened."""
    if isinstance(error, (UserError, ValueError, OSError)):
        return str(error)
    return "".join(traceback.format_exception(error)).strip()
