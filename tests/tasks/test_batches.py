"""Batches: whatever a cell needs is of its own batch or of one of an earlier stage."""

import pytest

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.planning.cell import Cell
from data_catalog.planning.planner import Planner
from data_catalog.specs.collection import Specs
from data_catalog.store.artifacts import Store
from tasks.engine.batches import batches
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch):
    """The stages of the benchmark; to import them is to import Prefect."""
    from flows.benchmark import BENCHMARK

    return BENCHMARK


@pytest.mark.parametrize("suite", ["demo", "simulated", "ablations", "theory"])
def test_whatever_a_cell_needs_is_there_before_it(suite: str, home: Home, stages) -> None:
    from flows.submission import check_stages

    specs = Specs.from_environment(home)
    cells = Graph(specs, look=False).cells(select(Selection(suite=suite), specs)[0])
    check_stages(cells, stages)
    decisions = Planner(Store(home)).plan(cells)
    settled: set[str] = set()
    for stage in stages:
        for batch in batches(decisions, stage.takes):
            assert {cell.name for cell in batch.needed} <= settled, stage.title(batch)
            assert batch.upstream <= settled
            settled |= {cell.name for cell in batch.cells}
    assert settled == {cell.name for cell in cells}


def cell(step: str, *parents: str) -> Cell:
    return Cell(step, {"dataset": "d"}, ("tasks.step",), {}, parents={parent: f"{parent}/d" for parent in parents})


def test_a_step_that_no_task_takes_is_an_error_that_names_it(stages) -> None:
    from flows.submission import check_stages

    with pytest.raises(UserError, match="0 stages of the benchmark take cells of the step posters"):
        check_stages([cell("posters")], stages)


def test_a_step_before_one_that_it_depends_on_is_an_error(stages) -> None:
    from flows.submission import check_stages

    with pytest.raises(UserError, match="samples/d comes before weights/d, which it depends on"):
        check_stages([cell("weights"), cell("samples", "weights")], stages)


def test_what_is_up_to_date_is_in_no_batch_and_its_key_is_known(home: Home) -> None:
    from tests.data_catalog.worlds import run, tiny_pipeline

    cells = tiny_pipeline(home)
    run(home, [one for one in cells if one.step in ("samples", "image_embeddings", "text_embeddings")])
    decisions = Planner(Store(home)).plan(cells)
    assert batches(decisions, lambda cell: cell.step == "samples") == []
    (scored,) = batches(decisions, lambda cell: cell.step == "predictions")
    assert {one.step for one in scored.needed} == {"samples", "image_embeddings", "text_embeddings"}
    assert scored.known.keys() == {one.name for one in scored.needed}
    assert scored.upstream == set()
    (measured,) = batches(decisions, lambda cell: cell.step == "metrics")
    assert measured.upstream == {one.name for one in scored.cells}
