"""Batches: whatever a cell needs is settled before it."""

import pytest

from data_catalog.home import Home
from data_catalog.specs.collection import Specs
from tasks.engine.batches import STAGES, batches, stage_of
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph


@pytest.mark.parametrize("suite", ["demo", "simulated"])
def test_whatever_a_cell_needs_is_settled_before_it(suite: str, home: Home) -> None:
    specs = Specs.from_environment(home)
    cells = Graph(specs).cells(select(Selection(suite=suite), specs)[0])
    by_name = {cell.name: cell for cell in cells}
    for cell in cells:
        for parent in cell.parents.values():
            assert STAGES.index(stage_of(by_name[parent])) <= STAGES.index(stage_of(cell)), (
                f"{cell.name} needs {parent}"
            )
    settled: set[str] = set()
    for waves in batches(cells, set(by_name)).values():
        for wave in waves:
            for batch in wave:
                assert {cell.name for cell in batch.needed} <= settled, batch.title
            settled |= {cell.name for batch in wave for cell in batch.cells}
    assert settled == set(by_name)
