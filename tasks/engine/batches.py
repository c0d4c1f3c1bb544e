"""Batches: the stale cells of a step, or a few, of one dataset and backbone, which one task brings up to date."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from data_catalog.planning.cell import Cell
from data_catalog.planning.planner import Decision


@dataclass(frozen=True)
class Batch:
    """What is decided about stale cells, inputs first, and all that these need."""

    dataset: str
    backbone: str
    decisions: tuple[Decision, ...]
    needed: tuple[Cell, ...]
    """Cells that those of this batch depend on, directly or not, inputs first."""
    known: Mapping[str, str]
    """The keys of those among them that were up to date when the run was planned."""

    @property
    def cells(self) -> list[Cell]:
        """The stale cells."""
        return [decision.cell for decision in self.decisions]

    @property
    def place(self) -> str:
        """The dataset and the backbone, as far as there are any, such as `waterbirds x clip-vit-l-14`."""
        return " x ".join(filter(None, (self.dataset, self.backbone)))

    @property
    def upstream(self) -> set[str]:
        """The names of the stale cells of other batches that these depend on directly."""
        own = {cell.name for cell in self.cells}
        direct = {parent for cell in self.cells for parent in cell.parents.values()}
        return direct - own - self.known.keys()


def batches(decisions: Iterable[Decision], chosen: Callable[[Cell], bool]) -> list[Batch]:
    """Return the stale cells that are chosen as batches. `decisions` are all of a plan, inputs first."""
    plan = {decision.cell.name: decision for decision in decisions}
    members: dict[tuple[str, str], list[Decision]] = {}
    for decision in plan.values():
        if decision.action != "up to date" and chosen(decision.cell):
            address = decision.cell.address
            place = (str(address.get("dataset", "")), str(address.get("backbone", "")))
            members.setdefault(place, []).append(decision)
    return [_batch(*place, tuple(own), plan) for place, own in members.items()]


def _batch(dataset: str, backbone: str, own: tuple[Decision, ...], plan: Mapping[str, Decision]) -> Batch:
    names = {decision.cell.name for decision in own}
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        for parent in plan[waiting.pop()].cell.parents.values():
            if parent not in names and parent not in needed:
                needed.add(parent)
                waiting.append(parent)
    before = [decision for name, decision in plan.items() if name in needed]
    known = {one.cell.name: one.key for one in before if one.action == "up to date" and one.key is not None}
    return Batch(dataset, backbone, own, tuple(one.cell for one in before), known)
