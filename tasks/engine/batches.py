"""Batches: the stale cells of one stage and one (dataset, backbone), which one task of the orchestrator settles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from data_catalog.planning.cell import Cell
from data_catalog.planning.planner import in_order

STAGES = ("embedding", "references", "scoring", "ablations", "aggregation")
"""In the order in which they follow each other."""

_STAGE_OF_STEP = {
    "samples": "embedding",
    "files": "embedding",
    "weights": "embedding",
    "image_embeddings": "embedding",
    "text_embeddings": "embedding",
    "attributes": "references",
    "references": "references",
    "densities": "references",
    "metrics": "aggregation",
    "over_zero_shot": "aggregation",
    "over_tie": "aggregation",
}
_VERBS = {
    "embedding": "embed",
    "references": "choose references",
    "scoring": "score",
    "ablations": "ablate",
    "aggregation": "measure",
}


@dataclass(frozen=True)
class Batch:
    """Cells that are settled one after the other, and the cells they need that are settled before."""

    stage: str
    dataset: str
    backbone: str
    cells: tuple[Cell, ...]
    needed: tuple[Cell, ...]

    @property
    def title(self) -> str:
        """What a person calls it, such as `embed waterbirds x clip-vit-l-14`."""
        if self.dataset and self.backbone:
            return f"{_VERBS[self.stage]} {self.dataset} x {self.backbone}"
        if self.dataset:
            return f"list the samples of {self.dataset}"
        if not self.backbone:
            return "check the theory"
        return f"read the weights of {self.backbone}"

    @property
    def tags(self) -> list[str]:
        """Labels by which runs are filtered."""
        methods = sorted({str(cell.address.get("method", "")) for cell in self.cells})
        named = [("dataset", self.dataset), ("backbone", self.backbone), *(("method", method) for method in methods)]
        return [self.stage, *(f"{kind}:{name}" for kind, name in named if name)]


def stage_of(cell: Cell) -> str:
    """Return the stage that a cell belongs to; scores of settings other than a dataset's own are ablations."""
    inspected = cell.step.startswith(("diagnostic_", "theory_"))
    stage = _STAGE_OF_STEP.get(cell.step, "aggregation" if inspected else "scoring")
    return "ablations" if stage == "scoring" and cell.address.get("variant") else stage


def batches(cells: Iterable[Cell], stale: set[str]) -> dict[str, list[list[Batch]]]:
    """Return, for each stage that has stale cells, its batches in waves: a wave needs only what came before it."""
    ordered = in_order(cells)
    by_name = {cell.name: cell for cell in ordered}
    members: dict[tuple[str, str, str], list[Cell]] = {}
    home: dict[str, tuple[str, str, str]] = {}
    for cell in ordered:
        if cell.name in stale:
            place = (stage_of(cell), str(cell.address.get("dataset", "")), str(cell.address.get("backbone", "")))
            members.setdefault(place, []).append(cell)
            home[cell.name] = place
    made = {place: Batch(*place, tuple(own), _needed(own, by_name)) for place, own in members.items()}
    result: dict[str, list[list[Batch]]] = {}
    for stage in STAGES:
        waves = _waves({place: batch for place, batch in made.items() if place[0] == stage}, home)
        if waves:
            result[stage] = waves
    return result


def _needed(cells: Iterable[Cell], by_name: Mapping[str, Cell]) -> tuple[Cell, ...]:
    """Return all that the cells need, directly or not, without themselves, inputs first."""
    own = {cell.name for cell in cells}
    found: dict[str, Cell] = {}
    waiting = list(own)
    while waiting:
        for parent in by_name[waiting.pop()].parents.values():
            if parent not in own and parent not in found:
                found[parent] = by_name[parent]
                waiting.append(parent)
    return tuple(cell for name, cell in by_name.items() if name in found)


def _waves(own: Mapping[tuple[str, str, str], Batch], home: Mapping[str, tuple[str, str, str]]) -> list[list[Batch]]:
    """Return the batches of a stage so that each comes after those of the same stage that it needs."""
    waves: list[list[Batch]] = []
    waiting = dict(own)
    while waiting:
        ready = [
            place
            for place, batch in waiting.items()
            if not any(home.get(cell.name) in waiting for cell in batch.needed)
        ]
        if not ready:  # two batches need cells of each other: together they can be settled in order
            return [*waves, [_joined(waiting.values())]]
        waves.append([waiting.pop(place) for place in ready])
    return waves


def _joined(parts: Iterable[Batch]) -> Batch:
    parts = list(parts)
    cells = in_order([cell for batch in parts for cell in (*batch.needed, *batch.cells)])
    own = {cell.name for batch in parts for cell in batch.cells}
    first = parts[0]
    return Batch(
        first.stage,
        first.dataset,
        first.backbone,
        tuple(cell for cell in cells if cell.name in own),
        tuple(cell for cell in cells if cell.name not in own),
    )
