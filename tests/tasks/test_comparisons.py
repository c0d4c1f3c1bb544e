"""Methods beside zero-shot and TIE: which are compared, what the numbers are, and when they are shown."""

import json

import numpy as np
import pyarrow as pa
import pytest

from dat_lib.bootstrap import paired_bootstrap
from tasks.graph.comparisons import comparison_cells
from tasks.step import Work
from tasks.steps import comparisons


@pytest.fixture
def compared(dat, embeddings_folder):
    add = ("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "my-clip")
    assert dat(*add).code == 0
    names = [word for name in ("zero_shot", "tie", "dat") for word in ("--method", name)]
    ran = dat("run", "--dataset", "birds", "--backbone", "my-clip", *names)
    assert ran.code == 0, ran.err
    return dat


def asked(dat, question: str) -> list[dict]:
    ran = dat("sql", question, "--format", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_each_result_is_compared_with_each_baseline_but_itself(compared) -> None:
    rows = asked(compared, "SELECT DISTINCT method, baseline FROM comparisons")
    pairs = {(row["method"], row["baseline"]) for row in rows}
    assert pairs == {("tie", "zero_shot"), ("dat", "zero_shot"), ("zero_shot", "tie"), ("dat", "tie")}


def test_a_comparison_is_the_paired_bootstrap_of_the_stored_predictions(compared) -> None:
    order = "ORDER BY sample_id"
    ours, theirs = (
        asked(compared, f"SELECT * FROM predictions WHERE method = '{name}' {order}") for name in ("dat", "zero_shot")
    )
    expected = paired_bootstrap(
        [row["prediction"] for row in ours],
        [row["prediction"] for row in theirs],
        [row["label"] for row in ours],
        [row["attribute"] for row in ours],
    ).worst_group
    (row,) = asked(
        compared, "SELECT * FROM comparisons WHERE method = 'dat' AND baseline = 'zero_shot' AND figure = 'wg'"
    )
    found = [row[name] for name in ("difference", "low", "high", "higher")]
    assert found == pytest.approx([expected.estimate, expected.low, expected.high, expected.higher])
    (ranked,) = asked(compared, "SELECT * FROM leaderboard WHERE method = 'dat'")
    names = ("over_zero_shot", "over_zero_shot_low", "over_zero_shot_high", "beats_zero_shot")
    assert [ranked[name] for name in names] == pytest.approx(found)


def predicted(seed: int, ids: str = "s") -> pa.Table:
    """Predictions for 60 samples, of which about a third are wrong."""
    rng = np.random.default_rng(seed)
    labels, attributes = np.repeat([0, 1], 30), np.tile([0, 1], 30)
    wrong = rng.random(60) < 0.3
    columns = {"label": labels, "attribute": attributes, "prediction": np.where(wrong, 1 - labels, labels)}
    return pa.table({"sample_id": [f"{ids}{row}" for row in range(60)], **columns})


PARAMS = {"groups": "class_attribute", "classes": ["a", "b"], "attributes": ["c", "d"], "resamples": 200}


@pytest.mark.parametrize("seed", [0, 3])
def test_a_comparison_is_drawn_by_the_seed_of_the_cell(seed: int) -> None:
    ours, theirs = predicted(1), predicted(2)
    found = comparisons.compute(Work({"predictions": ours, "baseline": theirs}, {**PARAMS, "seed": seed}))
    both = [table.column("prediction").to_numpy() for table in (ours, theirs)]
    truth = [ours.column(name).to_numpy() for name in ("label", "attribute")]
    expected = paired_bootstrap(*both, *truth, resamples=200, seed=seed)
    for row, name in zip(found.table.to_pylist(), ("worst_group", "average", "gap"), strict=True):
        drawn = getattr(expected, name)
        figures = [row[column] for column in ("difference", "low", "high", "higher")]
        assert figures == [drawn.estimate, drawn.low, drawn.high, drawn.higher]


def test_another_seed_draws_another_comparison() -> None:
    inputs = {"predictions": predicted(1), "baseline": predicted(2)}
    first, second = (comparisons.compute(Work(inputs, {**PARAMS, "seed": seed})).table for seed in (0, 3))
    assert first.column("difference").equals(second.column("difference"))
    assert not first.column("higher").equals(second.column("higher"))


def test_predictions_for_other_samples_are_not_compared() -> None:
    inputs = {"predictions": predicted(1), "baseline": predicted(1, ids="t")}
    with pytest.raises(ValueError, match="not tested on the same samples"):
        comparisons.compute(Work(inputs, {**PARAMS, "seed": 0}))


def test_a_comparison_with_superseded_predictions_is_shown_no_more(compared, tmp_path) -> None:
    shown = "SELECT count(*) AS n FROM comparisons WHERE method = 'dat'"
    assert asked(compared, shown) == [{"n": 6}]
    folder = tmp_path / "specs/methods"
    folder.mkdir(parents=True)
    (folder / "dat.toml").write_text("[datasets.birds]\nstrength = 3.0\n")
    assert compared("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "dat").code == 0
    assert asked(compared, shown) == [{"n": 0}]
    (row,) = asked(compared, "SELECT over_zero_shot_low FROM leaderboard WHERE method = 'dat'")
    assert row["over_zero_shot_low"] is None


def test_a_comparison_stays_when_predictions_are_computed_anew_and_come_out_the_same(compared, tmp_path) -> None:
    rows = "SELECT * FROM comparisons WHERE method = 'dat' ORDER BY ALL"
    before = asked(compared, rows)
    assert len(before) == 6
    folder = tmp_path / "specs/methods"
    folder.mkdir(parents=True)
    # No group is short of references: another key, the same predictions.
    (folder / "dat.toml").write_text('[datasets.birds]\nshortage = "use"\n')
    assert compared("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "dat").code == 0
    made = asked(compared, "SELECT count(*) AS n FROM artifacts WHERE cell = 'predictions/birds/my-clip/dat'")
    assert made == [{"n": 2}]
    assert asked(compared, rows) == before
    (row,) = asked(compared, "SELECT over_zero_shot_low FROM leaderboard WHERE method = 'dat'")
    assert row["over_zero_shot_low"] is not None


def test_results_that_rest_on_other_data_are_ranked_apart_and_say_so(compared, embeddings_folder) -> None:
    import pyarrow.parquet as pq

    path = embeddings_folder / "images.parquet"
    table = pq.read_table(path)
    vectors = [vector[1:] + vector[:1] for vector in table.column("embedding").to_pylist()]
    pq.write_table(table.set_column(4, "embedding", [vectors]), path)
    add = ("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "my-clip")
    assert compared(*add).code == 0
    assert compared("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "dat").code == 0
    rows = {row["method"]: row for row in asked(compared, "SELECT * FROM leaderboard")}
    assert rows["dat"]["differs"] is None
    assert rows["tie"]["differs"] == rows["zero_shot"]["differs"] == "image embeddings"
    assert rows["dat"]["rank"] == 1
    assert rows["dat"]["over_zero_shot"] is None
    assert {rows["tie"]["rank"], rows["zero_shot"]["rank"]} == {1, 2}


def test_why_explains_a_comparison(compared) -> None:
    ran = compared("why", "over_tie/birds/my-clip/dat")
    assert ran.code == 0, ran.err
    assert "now: up to date" in ran.out
    assert "baseline: predictions/birds/my-clip/tie" in ran.out


def test_variants_are_not_compared() -> None:
    from data_catalog.planning.cell import Cell

    def cell(step: str, method: str, variant: str = "") -> Cell:
        address = {"dataset": "d", "backbone": "b", "method": method, "variant": variant, "seed": 0}
        return Cell(step, address, modules=())

    cells = [cell(step, *name) for name in (("zero_shot",), ("dat", "k=3")) for step in ("predictions", "metrics")]
    assert list(comparison_cells(cells)) == []
