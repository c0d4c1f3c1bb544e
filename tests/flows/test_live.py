"""What a person sees while a run goes on."""

import re

import pytest
from rich.console import Console

from data_catalog.planning.cell import Cell
from flows.cli.terminal import progress as live
from tasks.engine.events import CellOutcome

EMBED = Cell("image_embeddings", {"dataset": "birds", "backbone": "clip"}, modules=())
SCORE = Cell("predictions", {"dataset": "birds", "backbone": "clip", "method": "dat"}, modules=())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    console = Console(force_terminal=True, width=120, record=True, color_system=None, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    monkeypatch.setattr(live, "errors", console)
    return console


def shown(console: Console) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.export_text())


def test_a_line_a_step_with_progress_rate_time_left_and_failures(
    terminal: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 110.0])
    monkeypatch.setattr(live.time, "monotonic", lambda: next(clock))
    with live.LiveSteps([EMBED, SCORE]) as steps:
        steps.started(EMBED)
        steps.progressed(EMBED, 1000, 9000, 0)
        steps.progressed(EMBED, 3000, 9000, 2)
        steps._progress.refresh()
    text = shown(terminal)
    assert "birds/clip 3,000 of 9,000, 200/s, 30 s left, 2 failed" in text
    assert "predictions" in text


def test_what_came_of_the_cells_is_counted_and_failures_are_named(terminal: Console) -> None:
    with live.LiveSteps([EMBED, SCORE]) as steps:
        steps.settled(CellOutcome(EMBED, "up to date", "up to date", ""))
        steps.settled(CellOutcome(SCORE, "run", "failed", "new", error="no references"))
    text = shown(terminal)
    assert "1 up to date" in text
    assert "failed predictions/birds/clip/dat (new)" in text


def test_in_a_pipe_there_is_a_line_for_each_cell_that_ran(capsys: pytest.CaptureFixture[str]) -> None:
    with live.LiveSteps([EMBED, SCORE]) as steps:
        steps.settled(CellOutcome(EMBED, "up to date", "up to date", ""))
        steps.settled(CellOutcome(SCORE, "run", "computed", "new", seconds=1.25))
    assert capsys.readouterr().err.split("\n") == ["  computed predictions/birds/clip/dat (new) 1.25 s", ""]
