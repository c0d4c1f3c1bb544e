"""The planner: which cells run, which are up to date, and why, from manifests alone."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from data_catalog.errors import DamagedError, UserError
from data_catalog.planning.cell import Cell
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.reasons import changes
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest

Action = Literal["up to date", "run", "wait"]


@dataclass(frozen=True)
class Decision:
    """What is to be done about one cell.

    `run`: it is stale. `wait`: an input must be computed first, and whether this one then runs depends on what comes
    out. A cell that has never existed says `run` also when its inputs are missing; its key is then not known yet.
    """

    cell: Cell
    action: Action
    reason: str
    key: str | None = None
    manifest: Manifest | None = None


@dataclass
class Planner:
    """Decides about cells, parents first. `forced` cells are stale whatever the store holds."""

    store: Store
    code: CodeVersions = field(default_factory=CodeVersions)
    forced: Callable[[Cell], bool] = lambda cell: False
    _found: dict[str, Manifest] = field(default_factory=dict, repr=False)
    _history: dict[str, dict[str, Manifest]] = field(default_factory=dict, repr=False)

    def plan(self, cells: Iterable[Cell]) -> list[Decision]:
        """Decide about all cells, in an order in which parents come first."""
        decided: dict[str, Decision] = {}
        for cell in in_order(cells):
            parents = {role: decided[name] for role, name in cell.parents.items()}
            pending = [role for role, parent in parents.items() if parent.action != "up to date"]
            if pending:
                decided[cell.name] = self._undecided(cell, pending)
            else:
                manifests = {role: parent.manifest for role, parent in parents.items() if parent.manifest}
                decided[cell.name] = self.decide(cell, manifests)
        return list(decided.values())

    def decide(self, cell: Cell, parents: Mapping[str, Manifest]) -> Decision:
        """Decide about one cell whose inputs are all there."""
        key = cell.key(self.code.version(cell.modules), {role: parent.content for role, parent in parents.items()})
        try:
            manifest = self.store.find(cell.step, key)
        except DamagedError:
            return Decision(cell, "run", "corrupt", key)
        if manifest is not None:
            self._found[key] = manifest
            if self.store.absent_file(manifest) is not None:
                return Decision(cell, "run", "missing", key)
            action: Action = "run" if self.forced(cell) else "up to date"
            return Decision(cell, action, "forced" if action == "run" else "", key, manifest)
        if self.store.quarantined(key):
            return Decision(cell, "run", "corrupt", key)
        return Decision(cell, "run", self._why_stale(cell, parents), key)

    def confirm(self, decision: Decision) -> Decision:
        """Return a decision as it stands now: somebody may have made the artifact since it was taken."""
        if decision.key is None or decision.reason == "forced":
            return decision
        with suppress(DamagedError):
            manifest = self.store.find(decision.cell.step, decision.key)
            if manifest is not None and self.store.absent_file(manifest) is None:
                return Decision(decision.cell, "up to date", "", decision.key, manifest)
        return decision

    def _undecided(self, cell: Cell, roles: Collection[str]) -> Decision:
        inputs = ", ".join(sorted(roles))
        if self._previous(cell) is None:
            return Decision(cell, "run", f"new (after {inputs})")
        return Decision(cell, "wait", f"input: {inputs}")

    def _why_stale(self, cell: Cell, parents: Mapping[str, Manifest]) -> str:
        previous = self._previous(cell)
        if previous is None:
            return "new"
        return changes(
            previous,
            code=self.code.closure(cell.modules),
            params=cell.canonical_params,
            facts=cell.canonical_facts,
            parents={role: parent.content for role, parent in parents.items()},
            explain=partial(cell.explain, self.store, previous) if cell.explain is not None else dict,
        )

    def _previous(self, cell: Cell) -> Manifest | None:
        """Return the newest artifact this cell had. Read only when something is stale."""
        if cell.step not in self._history:
            newest: dict[str, Manifest] = {}
            for manifest in self._manifests(cell.step):
                known = newest.get(manifest.cell)
                if known is None or (known.created, known.key) < (manifest.created, manifest.key):
                    newest[manifest.cell] = manifest
            self._history[cell.step] = newest
        return self._history[cell.step].get(cell.name)

    def _manifests(self, step: str) -> Iterator[Manifest]:
        """Yield every readable manifest of a step; those found by an earlier decision are not read again."""
        for _, key in self.store.listing(step):
            with suppress(DamagedError):
                manifest = self._found.get(key) or self.store.find(step, key)
                if manifest is not None:
                    yield manifest


def in_order(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells so that parents come first, otherwise in the order given; each name once."""
    by_name: dict[str, Cell] = {}
    for cell in cells:
        other = by_name.setdefault(cell.name, cell)
        if other != cell:
            raise UserError(f"two different cells are both called {cell.name}", remedy="give one another variant")
    done: dict[str, Cell] = {}
    state: defaultdict[str, int] = defaultdict(int)
    for start in by_name:
        waiting = [start]
        while waiting:
            name = waiting[-1]
            if state[name] == 2:
                waiting.pop()
                continue
            cell = by_name.get(name) or _unknown_parent(name, waiting)
            ahead = [parent for parent in cell.parents.values() if state[parent] != 2]
            if ahead and state[name] == 1:
                raise UserError(f"cells depend on each other in a circle: {' -> '.join([*waiting, ahead[0]])}")
            state[name] = 1 if ahead else 2
            if ahead:
                waiting.extend(ahead)
            else:
                done[name] = cell
                waiting.pop()
    return list(done.values())


def _unknown_parent(name: str, waiting: list[str]) -> Cell:
    child = waiting[-2] if len(waiting) > 1 else name
    raise UserError(f"cell {child} needs {name}, which is not among the cells to plan")
