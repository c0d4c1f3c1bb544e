"""The step that measures predictions: its figures, the sizes that weigh them, and the seed of its intervals."""

import numpy as np
import pyarrow as pa
import pytest

from dat_lib.bootstrap import bootstrap_metrics
from tasks.graph.experiments import Experiment
from tasks.graph.graph import Graph
from tasks.step import Work
from tasks.steps import metrics

# How many samples each split has of (class, attribute), and how many of the test samples are predicted rightly.
SIZES = {"train": [[70, 5], [5, 20]], "val": [[10, 40], [30, 20]], "test": [[10, 10], [4, 20]]}
RIGHT = [[9, 5], [1, 16]]


def samples(sizes: dict[str, list[list[int]]] = SIZES) -> pa.Table:
    rows = [
        {"split": split, "label": y, "attribute": a}
        for split, table in sizes.items()
        for y, of_class in enumerate(table)
        for a, count in enumerate(of_class)
        for _ in range(count)
    ]
    return pa.Table.from_pylist(rows)


def work(given: pa.Table | None = None, **params: object) -> Work:
    """A cell whose predictions are right as often as `RIGHT` says."""
    tested = samples({"test": SIZES["test"]}).drop_columns("split")
    right = [row < RIGHT[y][a] for y, a in np.ndindex(2, 2) for row in range(SIZES["test"][y][a])]
    labels = tested.column("label").to_numpy()
    predictions = tested.append_column("prediction", pa.array(np.where(right, labels, 1 - labels)))
    usual = {"groups": "class_attribute", "classes": ["land", "water"], "attributes": ["wood", "sea"]}
    return Work(
        {"predictions": predictions, "samples": given or samples()},
        {**usual, "resamples": 200, "seed": 0, **params},
    )


def test_the_figures_are_those_of_the_groups() -> None:
    output = metrics.compute(work())
    assert output.table.column("accuracy").to_pylist() == [90, 50, 25, 80]
    assert output.table.column("group").to_pylist() == ["land, wood", "land, sea", "water, wood", "water, sea"]
    found = {name: output.summary[name] for name in ("wg", "avg", "gap", "worst_group", "samples")}
    average = pytest.approx(100 * 31 / 44)
    gap = pytest.approx(100 * 31 / 44 - 25)
    assert found == {"wg": 25, "avg": average, "gap": gap, "worst_group": "water, wood", "samples": 44}


def test_the_adjusted_average_weighs_each_group_by_its_share_of_the_training_split() -> None:
    expected = (90 * 70 + 50 * 5 + 25 * 5 + 80 * 20) / 100
    assert metrics.compute(work()).summary["avg_adjusted"] == pytest.approx(expected)


def test_where_groups_are_attributes_alone_so_are_the_training_sizes() -> None:
    expected = (100 * 10 / 14 * 75 + 100 * 21 / 30 * 25) / 100
    assert metrics.compute(work(groups="attribute")).summary["avg_adjusted"] == pytest.approx(expected)


def test_training_samples_that_no_attribute_describes_weigh_nothing() -> None:
    others = pa.Table.from_pylist([{"split": "train", "label": 0, "attribute": -1}] * 50)
    found = metrics.compute(work(pa.concat_tables([samples(), others]))).summary["avg_adjusted"]
    assert found == metrics.compute(work()).summary["avg_adjusted"]


def test_without_training_samples_there_is_no_adjusted_average() -> None:
    unlabelled = samples({split: sizes for split, sizes in SIZES.items() if split != "train"})
    assert metrics.compute(work(unlabelled)).summary["avg_adjusted"] is None


@pytest.mark.parametrize("seed", [0, 3])
def test_intervals_are_drawn_by_the_seed_of_the_cell(seed: int) -> None:
    given = work(seed=seed)
    truth = (given.inputs["predictions"].column(name).to_numpy() for name in ("prediction", "label", "attribute"))
    expected = bootstrap_metrics(*truth, resamples=200, seed=seed)
    output = metrics.compute(given)
    found = [output.summary[name] for name in ("wg_low", "wg_high", "avg_low", "avg_high")]
    wg, avg = expected.worst_group, expected.average
    assert found == [wg.low, wg.high, avg.low, avg.high]
    assert output.table.column("worst_share").to_pylist() == list(expected.worst_share.values())


def test_another_seed_draws_other_resamples() -> None:
    shares = [metrics.compute(work(seed=seed)).table.column("worst_share").to_pylist() for seed in (0, 3)]
    assert shares[0] != shares[1]


def test_the_seed_of_an_experiment_is_that_of_its_intervals_and_comparisons(home) -> None:
    from data_catalog.specs.collection import Specs

    asked = [Experiment("simbirds", "simclip", method, seed=3) for method in ("zero_shot", "tie", "dat")]
    cells = Graph(Specs.from_environment(home)).cells(asked)
    drawn = [cell for cell in cells if cell.step in ("metrics", "over_zero_shot", "over_tie")]
    assert len(drawn) == 3 + 4
    assert {(cell.params["seed"], cell.params["resamples"]) for cell in drawn} == {(3, 2000)}
