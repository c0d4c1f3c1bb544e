import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.metrics import group_metrics

WATERBIRDS_TRAIN = [[3498, 184], [56, 1057]]


def outcome(correct, totals):
    """Predictions, labels and attributes with the given counts [K][M]."""
    predictions, labels, attributes = [], [], []
    for y, row in enumerate(totals):
        for a, total in enumerate(row):
            right = correct[y][a]
            predictions += [y] * right + [1 - y] * (total - right)
            labels += [y] * total
            attributes += [a] * total
    return np.array(predictions), np.array(labels), np.array(attributes)


def test_figures_of_four_groups():
    m = group_metrics(*outcome([[9, 5], [2, 8]], [[10, 10], [4, 16]]))
    assert m.worst_group == 50.0
    assert m.average == 60.0
    assert m.gap == 10.0
    assert m.average_adjusted is None
    assert m.worst.key == (0, 1)
    assert list(m.per_group) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert m.per_group[0, 0].accuracy == 90.0
    assert (m.per_group[1, 1].correct, m.per_group[1, 1].total) == (8, 16)


def test_the_adjusted_average_of_the_published_waterbirds_groups():
    # TIE's group accuracies on ViT-L/14: 84.12 plain, 87.82 weighted by the training groups.
    totals = [[2255, 2255], [642, 642]]
    rates = [[0.910865, 0.793348], [0.817757, 0.788162]]
    correct = [
        [round(rate * total) for rate, total in zip(*rows, strict=True)] for rows in zip(rates, totals, strict=True)
    ]
    m = group_metrics(*outcome(correct, totals), reference_counts=WATERBIRDS_TRAIN)
    assert m.average == pytest.approx(84.12, abs=0.005)
    assert m.average_adjusted == pytest.approx(87.82, abs=0.005)
    assert m.worst_group == pytest.approx(78.82, abs=0.005)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 999), size=st.integers(1, 60), classes=st.integers(1, 4), attributes=st.integers(1, 4))
def test_figures_are_their_definitions(seed, size, classes, attributes):
    rng = np.random.default_rng(seed)
    y, a, p = rng.integers(classes, size=size), rng.integers(attributes, size=size), rng.integers(classes, size=size)
    counts = rng.integers(1, 9, (classes, attributes))
    m = group_metrics(p, y, a, reference_counts=counts, n_classes=classes, n_attributes=attributes)
    accuracy = {}
    for group in np.ndindex(classes, attributes):
        mine = (y == group[0]) & (a == group[1])
        record = m.per_group[group]
        assert record.total == mine.sum()
        if mine.any():
            accuracy[group] = 100 * np.mean(p[mine] == group[0])
            assert record.accuracy == pytest.approx(accuracy[group])
        else:
            assert record.accuracy is None
    assert m.worst_group == pytest.approx(min(accuracy.values()))
    assert m.average == pytest.approx(100 * np.mean(p == y))
    assert m.gap == pytest.approx(m.average - m.worst_group)
    weighted = sum(accuracy[group] * counts[group] for group in accuracy) / sum(counts[group] for group in accuracy)
    assert m.average_adjusted == pytest.approx(weighted)


def test_groups_without_samples_are_listed_and_not_the_worst():
    m = group_metrics([0, 0], [0, 0], [0, 0], n_classes=2, n_attributes=2)
    assert len(m.per_group) == 4
    assert m.per_group[1, 1].accuracy is None
    assert m.worst.key == (0, 0)


def test_groups_by_attribute_alone():
    m = group_metrics([0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1], groups="attribute", reference_counts=[1, 3])
    assert {key: record.accuracy for key, record in m.per_group.items()} == {(None, 0): 50.0, (None, 1): 100.0}
    assert m.worst.attribute == 0
    assert m.average_adjusted == 87.5


def test_an_attribute_may_count_in_the_average_and_never_be_the_worst():
    predictions, labels, regions = [0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 1, 2]
    usual = group_metrics(predictions, labels, regions, groups="attribute")
    assert usual.worst.attribute == 2
    spared = group_metrics(predictions, labels, regions, groups="attribute", never_worst=[2])
    assert spared.worst_group == 100.0
    assert spared.average == usual.average == 75.0
    assert spared.per_group[None, 2].accuracy == 0.0


def test_samples_that_no_attribute_describes_are_a_group_that_is_never_the_worst():
    m = group_metrics([0, 0, 1], [0, 0, 0], [0, 0, -1], reference_counts=[[2]])
    assert m.worst_group == 100.0
    assert m.average == pytest.approx(200 / 3)
    assert m.average_adjusted == 100.0
    assert m.per_group[0, -1].total == 1


def test_no_answer_is_a_wrong_answer():
    assert group_metrics([-1, 0], [0, 0], [0, 0]).average == 50.0


def test_of_equal_groups_the_first_is_the_worst():
    assert group_metrics([1, 1, 0], [0, 1, 1], [0, 0, 1]).worst.key == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), "there are no samples to measure"),
        (([0], [0, 1], [0, 1]), r"predictions have the shape \(1,\) where \(2,\) is needed"),
        (([0, 1], [0, 1], [0]), "attributes has 1 entries where 2 are needed"),
        (([0.0, 1.0], [0, 1], [0, 0]), "predictions must be integers"),
        (([0], [-1], [0]), "labels must not be negative"),
        (([0], [0], [-1]), "no group that may be the worst has samples"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        group_metrics(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": "class"}, "groups must be one of class_attribute, attribute, not 'class'"),
        ({"reference_counts": [1, 2, 3]}, r"reference_counts has the shape \(3,\) where \(1, 2\) is needed"),
        ({"reference_counts": [[0, 0]]}, "reference_counts are zero for every group that has samples"),
        ({"reference_counts": [[-1, 2]]}, "reference_counts must be finite and not negative"),
        ({"n_attributes": 1}, "attributes must lie in 0..0, but holds 1"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        group_metrics([0, 0], [0, 0], [0, 1], **options)
