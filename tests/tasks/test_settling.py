"""Settling: what is transient is retried, what is wrong is not, and a forced rerun tells how it differs."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import requests
import torch

import tasks.steps.predictions
from dat_lib.datasets.source import DataError
from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.planning.cell import Cell
from data_catalog.planning.planner import Decision
from tasks.engine.batches import Batch
from tasks.engine.execution import Assignment, Order, TransientFaultError, is_transient, settle_batch
from tasks.step import Output, Work
from tests.data_catalog.worlds import contents, run, tiny_pipeline
from tests.tasks import flaky_step


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionResetError("gone"), True),
        (TimeoutError("slow"), True),
        (requests.ConnectionError("gone"), True),
        (caused(DataError("x cannot be downloaded"), requests.Timeout("slow")), True),
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (DataError("no such folder"), False),
        (ValueError("NaN in the embeddings"), False),
        (MemoryError(), False),
        (FileNotFoundError("images.parquet"), False),
    ],
)
def test_only_the_network_and_the_memory_of_a_gpu_may_be_better_a_little_later(error, expected) -> None:
    assert is_transient(error) is expected


def flaky(failures: Path, kind: str) -> Batch:
    cell = Cell(
        step="flaky",
        address={"dataset": "d", "backbone": "b"},
        modules=(flaky_step.__name__,),
        params={"kind": kind},
        resources={"failures": str(failures)},
    )
    return Batch("d", "b", (Decision(cell, "run", "new"),), (), {})


def test_a_transient_fault_is_raised_while_there_are_retries_and_told_when_there_are_none(
    home: Home, tmp_path: Path
) -> None:
    failures = tmp_path / "failures"
    failures.write_text("2")
    home.prepare()
    work = Assignment(Order(home, "r000001"), flaky(failures, "connection"))
    with pytest.raises(TransientFaultError, match="the network is down"):
        settle_batch(work, retry=True)
    (outcome,) = settle_batch(work, retry=False).outcomes
    assert (outcome.outcome, outcome.key) == ("failed", None)
    (outcome,) = settle_batch(work, retry=True).outcomes
    assert outcome.outcome == "computed"


def test_wrong_data_is_never_retried(home: Home, tmp_path: Path) -> None:
    failures = tmp_path / "failures"
    failures.write_text("1")
    home.prepare()
    (outcome,) = settle_batch(Assignment(Order(home, "r000001"), flaky(failures, "value")), retry=True).outcomes
    assert (outcome.outcome, outcome.error) == ("failed", "the network is down")


def test_a_forced_rerun_overwrites_nothing_and_says_how_far_each_artifact_has_drifted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = tiny_pipeline(home)
    run(home, cells)
    before = contents(home)
    result = run(home, cells, force=True)
    assert {outcome.outcome for outcome in result.outcomes} == {"reproduced"}

    honest = tasks.steps.predictions.compute

    def contrary(work: Work) -> Output:
        """Make the opposite prediction for every sample of zero-shot."""
        made = honest(work)
        if work.params["method"] != "zero_shot":
            return made
        flipped = pc.subtract(pa.scalar(1, pa.int32()), made.table.column("prediction"))
        place = made.table.column_names.index("prediction")
        return Output(made.table.set_column(place, "prediction", flipped), made.summary)

    monkeypatch.setattr(tasks.steps.predictions, "compute", contrary)
    stored = dict(query(home, "SELECT method, wg FROM results").rows)
    result = run(home, cells, force=True)
    assert contents(home) == before
    drifted = {
        row[0]: SimpleNamespace(difference=row[1], wg=row[2], avg=row[3])
        for row in query(
            home,
            f"SELECT cell, difference, wg_change, avg_change FROM drift WHERE drifted AND run_id = '{result.run_id}'",
        ).rows
    }
    predictions, metrics = drifted["predictions/tiny/simclip/zero_shot"], drifted["metrics/tiny/simclip/zero_shot"]
    assert predictions.difference == 1.0
    assert predictions.wg is None
    # What comes after it was computed from what the rerun made, so the change shows in the numbers people read.
    groups = query(home, "SELECT max(accuracy) FROM group_accuracy WHERE method = 'zero_shot'").rows
    assert metrics.wg == pytest.approx(100 - groups[0][0] - stored["zero_shot"])
    assert metrics.avg is not None
    assert not any(name.endswith("/group_prompt") and name.startswith(("predictions", "metrics")) for name in drifted)
    assert {cell for (cell,) in query(home, "SELECT cell FROM drift WHERE NOT drifted").rows} >= {
        "samples/tiny/simclip"
    }
