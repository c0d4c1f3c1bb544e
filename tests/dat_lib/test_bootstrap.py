import numpy as np
import pytest

from dat_lib.bootstrap import bootstrap_metrics, paired_bootstrap
from dat_lib.metrics import group_metrics


def samples(rates, size=80, seed=0):
    """Labels, attributes and predictions that are right at a given rate in each group [K][M]."""
    rng = np.random.default_rng(seed)
    groups = list(np.ndindex(np.shape(rates)))
    labels, attributes = np.transpose([group for group in groups for _ in range(size)])
    right = rng.random(len(labels)) < np.asarray(rates)[labels, attributes]
    return np.where(right, labels, 1 - labels), labels, attributes


def literal_resamples(predictions, labels, attributes, count, seed):
    """Resample indices within each group and measure each time."""
    rng = np.random.default_rng(seed)
    groups = [np.flatnonzero((labels == y) & (attributes == a)) for y in (0, 1) for a in (0, 1)]
    for _ in range(count):
        rows = np.concatenate([rng.choice(group, len(group)) for group in groups])
        yield [group_metrics(p[rows], labels[rows], attributes[rows]) for p in predictions]


def test_intervals_are_those_of_resampled_indices():
    predictions, labels, attributes = samples([[0.9, 0.6], [0.7, 0.95]])
    found = bootstrap_metrics(predictions, labels, attributes, resamples=4000)
    measured = [m for (m,) in literal_resamples([predictions], labels, attributes, 1500, seed=1)]
    for name in ("worst_group", "average", "gap"):
        low, high = np.quantile([getattr(m, name) for m in measured], [0.025, 0.975])
        interval = getattr(found, name)
        assert interval.estimate == getattr(group_metrics(predictions, labels, attributes), name)
        assert interval.low == pytest.approx(low, abs=1.0)
        assert interval.high == pytest.approx(high, abs=1.0)
    for group, share in found.worst_share.items():
        assert share == pytest.approx(np.mean([m.worst.key == group for m in measured]), abs=0.04)
    assert sum(found.worst_share.values()) == pytest.approx(1)


def test_paired_differences_are_those_of_indices_resampled_for_both():
    first, labels, attributes = samples([[0.9, 0.6], [0.7, 0.95]])
    second = np.where(np.random.default_rng(5).random(len(first)) < 0.1, 1 - first, first)
    found = paired_bootstrap(first, second, labels, attributes, resamples=4000)
    pairs = list(literal_resamples([first, second], labels, attributes, 1500, seed=1))
    for name in ("worst_group", "average", "gap"):
        differences = [getattr(a, name) - getattr(b, name) for a, b in pairs]
        difference = getattr(found, name)
        low, high = np.quantile(differences, [0.025, 0.975])
        assert difference.low == pytest.approx(low, abs=1.0)
        assert difference.high == pytest.approx(high, abs=1.0)
        assert difference.higher == pytest.approx(np.mean(np.sign(differences)) / 2 + 0.5, abs=0.04)


def test_pairing_narrows_the_interval_of_methods_that_err_alike():
    first, labels, attributes = samples([[0.7, 0.7], [0.7, 0.7]])
    second = first.copy()
    second[:3] = 1 - labels[:3]
    paired = paired_bootstrap(first, second, labels, attributes).average
    alone = bootstrap_metrics(first, labels, attributes).average
    assert paired.high - paired.low < 0.3 * (alone.high - alone.low)


def test_a_method_does_not_differ_from_itself():
    predictions, labels, attributes = samples([[0.9, 0.6], [0.7, 0.95]])
    same = paired_bootstrap(predictions, predictions, labels, attributes).worst_group
    assert (same.estimate, same.low, same.high, same.higher) == (0, 0, 0, 0.5)


def test_the_adjusted_average_has_an_interval_where_sizes_are_given():
    predictions, labels, attributes = samples([[0.9, 0.6], [0.7, 0.95]])
    counts = [[90, 10], [10, 90]]
    interval = bootstrap_metrics(predictions, labels, attributes, reference_counts=counts).average_adjusted
    expected = group_metrics(predictions, labels, attributes, reference_counts=counts).average_adjusted
    assert interval.estimate == pytest.approx(expected)
    assert interval.low < expected < interval.high
    paired = paired_bootstrap(predictions, labels, labels, attributes, reference_counts=counts)
    assert paired.average_adjusted.estimate == pytest.approx(expected - 100)
    assert bootstrap_metrics(predictions, labels, attributes).average_adjusted is None


def test_groups_without_samples_are_never_the_worst():
    found = bootstrap_metrics([0, 1, 0], [0, 1, 1], [0, 0, 0], n_classes=2, n_attributes=2)
    assert found.worst_share[0, 1] == found.worst_share[1, 1] == 0
    assert paired_bootstrap([0, 1], [0, 0], [0, 1], [0, 0], n_attributes=2).average.estimate == 50.0


def test_ties_for_the_worst_are_shared():
    found = bootstrap_metrics([0, 1], [0, 1], [0, 0])
    assert found.worst_share == {(0, 0): 0.5, (1, 0): 0.5}


def test_equal_seeds_give_equal_intervals():
    arguments = samples([[0.9, 0.6], [0.7, 0.95]])
    first, again, other = (bootstrap_metrics(*arguments, seed=seed, resamples=300) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(("options", "message"), [({"resamples": 0}, "resamples"), ({"confidence": 1.0}, "confidence")])
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_metrics([0], [0], [0], **options)
