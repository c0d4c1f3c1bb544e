"""The cells behind densities: inferred attributes, references, and the densities themselves.

Each is keyed by what decides it and nothing else, and named by that, so that whoever asks for the same gets the same
cell. Herding is greedy: one herded set serves every n up to its size, and its corrupted copies.
"""

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dat_lib.methods.support.contract import DensityNeeds
from data_catalog.planning.cell import Cell
from tasks.graph.variants import spelled_out

HERDED = 64
"""Herded sets hold a multiple of this many references a group, enough for n: what is not asked for yet costs little."""

_SOURCES = ("samples", "image_embeddings")
_DIFFER_IN = {"tasks.steps.densities": "k", "tasks.steps.text_embeddings": "prompts"}


@dataclass(frozen=True)
class DensityCells:
    """Cells for one dataset and backbone, whose embedding cells are given."""

    embeddings: Mapping[str, Cell]
    address: Mapping[str, str]
    pool_split: str
    n_classes: int
    n_attributes: int

    def cells(self, wanted: DensityNeeds, seed: int, prompts: Any, told: Mapping[str, str]) -> dict[str, Cell]:
        """Return {role: cell} of what predictions need, and the herded set that a corrupted one is made from.

        `prompts` are those that attributes are inferred from; `told` says whose they are, where not everybody's.
        """
        found = {}
        naming = dict(told) if wanted.groups == "inferred" else {}
        parents = {role: self.embeddings[role].name for role in _SOURCES}
        if wanted.groups == "inferred":
            found["attributes"] = self.attributes(prompts, naming)
            naming["groups"] = "inferred"
            parents["attributes"] = found["attributes"].name
        references = self._references(wanted, seed, naming, parents)
        if wanted.corruption:
            found["herded"] = references
            references = self._corrupted(wanted, seed, naming, references)
        found["references"] = references
        found["densities"] = self._densities(wanted, seed, naming, references)
        return found

    def attributes(self, prompts: Any, naming: Mapping[str, str]) -> Cell:
        """Return the cell of inferred attributes."""
        return Cell(
            step="attributes",
            address=self._address(naming),
            modules=("tasks.steps.attributes",),
            params={"text": prompts},
            parents={role: self.embeddings[role].name for role in ("image_embeddings", "text_embeddings")},
        )

    def _references(
        self, wanted: DensityNeeds, seed: int, naming: Mapping[str, Any], parents: Mapping[str, str]
    ) -> Cell:
        params = {"sampling": "herding", "n": -(-wanted.n // HERDED) * HERDED, **self._sizes, **self._pool}
        address = self._address({**naming, "n": params["n"]})
        if wanted.references == "random":
            params |= {"sampling": "random", "n": wanted.n, "seed": seed}
            address = self._address({**naming, "n": wanted.n, "references": "random"}, seed)
        return Cell("references", address, modules=("tasks.steps.references",), params=params, parents=parents)

    def _corrupted(self, wanted: DensityNeeds, seed: int, naming: Mapping[str, Any], references: Cell) -> Cell:
        settings = {name: getattr(wanted, name) for name in ("n", "shortage", "corruption")}
        # Which groups are long enough depends on k only where shorter ones are used.
        settings["k"] = wanted.k if wanted.shortage == "use" else 0
        told = {name: settings[name] for name in ("n", "corruption", *(("k", "shortage") if settings["k"] else ()))}
        drawn = {"references": "random"} if wanted.references == "random" else {}
        return Cell(
            step="references",
            address=self._address({**naming, **told, **drawn}, seed),
            modules=("tasks.steps.corruption",),
            params={**settings, **self._sizes, "seed": seed},
            parents={"references": references.name},
        )

    def _densities(self, wanted: DensityNeeds, seed: int, naming: Mapping[str, Any], references: Cell) -> Cell:
        params = {name: getattr(wanted, name) for name in ("n", "k", "density", "lid", "metric", "shortage")}
        if wanted.density != "dao":
            params["lid"] = "mle"  # which nobody then asks for
        told = {**params, "references": wanted.references, "corruption": wanted.corruption}
        usual = dataclasses.asdict(DensityNeeds(n=0, k=0))
        naming = {**naming, **{name: value for name, value in told.items() if value != usual[name]}}
        return Cell(
            step="densities",
            address=self._address(naming, seed if wanted.random else 0),
            modules=("tasks.steps.densities",),
            params={**params, **self._sizes, **self._pool},
            parents={**{role: self.embeddings[role].name for role in _SOURCES}, "references": references.name},
            resources={"device": os.environ.get("DAT_DEVICE", "cpu")},
        )

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"n_classes": self.n_classes, "n_attributes": self.n_attributes}

    @property
    def _pool(self) -> dict[str, Any]:
        return {"pool_split": self.pool_split}

    def _address(self, naming: Mapping[str, Any], seed: int = 0) -> dict[str, str | int]:
        named = {"variant": spelled_out(naming)} if naming else {}
        return {**self.address, **named, **({"seed": seed} if seed else {})}


def in_one_go(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells, those that differ in one setting alone each with the others, where one pass makes them all.

    Densities may differ in k, which share their distances, and texts in their prompts, which share a loaded model.
    """
    cells = list(cells)
    families: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.modules[0] in _DIFFER_IN:
            families.setdefault(_family(cell), []).append(cell)
    together = {
        cell.name: tuple(other for other in family if other is not cell)
        for family in families.values()
        if len(family) > 1
        for cell in family
    }
    return [
        dataclasses.replace(cell, together=together[cell.name]) if cell.name in together else cell for cell in cells
    ]


def _family(cell: Cell) -> str:
    shared = {name: value for name, value in cell.params.items() if name != _DIFFER_IN[cell.modules[0]]}
    return repr((cell.modules, sorted(shared.items()), sorted(cell.parents.items())))
