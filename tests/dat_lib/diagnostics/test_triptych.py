import numpy as np
import pytest

from dat_lib.columns import columns
from dat_lib.diagnostics.triptych import density_triptych, group_scores, spurious_counterpart, summarise_triptych
from dat_lib.translation import Similarities


@pytest.fixture
def measured():
    rng = np.random.default_rng(0)
    similarity = Similarities(rng.uniform(0.1, 0.3, (20, 2)), rng.uniform(0.1, 0.3, (20, 2, 2)))
    labels, attributes = np.repeat([0, 0, 1, 1], 5), np.repeat([0, 1, 0, 1], 5)
    return similarity, np.log(rng.uniform(0.8, 1.5, (20, 2, 2))), labels, attributes


def test_samples_of_both_groups_are_measured_against_both(measured):
    similarity, log_density, labels, attributes = measured
    found = density_triptych(*measured, group=(1, 0), counterpart=(0, 1), strength=3.0, epsilon=0.01)
    assert len(columns(found)["score"]) == 20
    seen = set()
    for i in range(20):
        row, y, a = found.row[i], found.label[i], found.attribute[i]
        seen.add((row, y, a))
        assert (labels[row], attributes[row]) == ((1, 0) if found.of_group[i] else (0, 1))
        assert found.against_own[i] == ((y, a) == (labels[row], attributes[row]))
        density = np.exp(log_density[row, y, a])
        assert found.cosine[i] == similarity.groups[row, y, a]
        assert found.density[i] == pytest.approx(density)
        assert found.score[i] == pytest.approx(similarity.groups[row, y, a] / (density + 0.01) ** 3)
    assert seen == {(row, y, a) for row in [*range(5, 15)] for y, a in [(1, 0), (0, 1)]}


def test_the_summary_says_in_numbers_which_side_samples_are_on(measured):
    found = density_triptych(*measured, group=(1, 0), counterpart=(0, 1))
    summary = summarise_triptych(found)
    keys = [(q, g) for q in ("cosine", "density", "score") for g in (True, False)]
    assert list(zip(summary.quantity, summary.of_group, strict=True)) == keys
    for i, (quantity, of_group) in enumerate(keys):
        values = getattr(found, quantity)
        by_row = {}
        for j in np.flatnonzero(found.of_group == of_group):
            by_row.setdefault(found.row[j], {})[bool(found.against_own[j])] = values[j]
        nearer = [(p[True] < p[False]) if quantity == "density" else (p[True] > p[False]) for p in by_row.values()]
        assert summary.right_side[i] == pytest.approx(np.mean(nearer))
        assert summary.own_median[i] == np.median([pair[True] for pair in by_row.values()])
        assert summary.other_median[i] == np.median([pair[False] for pair in by_row.values()])
        assert summary.samples[i] == 5
    assert len(columns(summary)["overlap"]) == 6


def test_the_counterpart_is_the_most_similar_group_of_another_class(measured):
    similarity, _, labels, attributes = measured
    similarity.groups[10:15] = [[0.1, 0.2], [0.9, 0.9]]
    assert spurious_counterpart(similarity, labels, attributes, (1, 0)) == (0, 1)
    by_default = density_triptych(*measured, group=(1, 0))
    stated = density_triptych(*measured, group=(1, 0), counterpart=(0, 1))
    for name, column in columns(stated).items():
        np.testing.assert_array_equal(columns(by_default)[name], column)


def test_scores_of_groups_are_the_quotient_at_its_edges():
    log_density = np.array([-np.inf, 0.0, np.inf])
    np.testing.assert_allclose(group_scores(np.full(3, 0.5), log_density, 2.0, 0.1), [50, 0.5 / 1.21, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group": (2, 0)}, r"no group \(2, 0\) among 2 classes and 2 attributes"),
        ({"group": (0, 0), "counterpart": (0, 0)}, "are both"),
        ({"group": (0, 0), "strength": -1.0}, "strength must be finite and not negative"),
        ({"group": (0, 0), "epsilon": 0.0}, "epsilon must be finite and positive"),
    ],
)
def test_bad_settings_are_refused(measured, arguments, message):
    with pytest.raises(ValueError, match=message):
        density_triptych(*measured, **arguments)


def test_groups_without_samples_or_references_are_refused(measured):
    similarity, log_density, labels, attributes = measured
    with pytest.raises(ValueError, match=r"group \(0, 0\) has no samples"):
        density_triptych(similarity, log_density, labels, np.ones_like(attributes), group=(0, 0), counterpart=(1, 1))
    with pytest.raises(ValueError, match="log_density has the shape"):
        density_triptych(similarity, log_density[:3], labels, attributes, group=(0, 0))
    log_density[:, 1, 1] = np.inf
    with pytest.raises(ValueError, match=r"group \(1, 1\) has no references"):
        density_triptych(similarity, log_density, labels, attributes, group=(0, 0), counterpart=(1, 1))
    one = Similarities(similarity.classes[:, :1], similarity.groups[:, :1])
    with pytest.raises(ValueError, match="no counterpart"):
        spurious_counterpart(one, np.zeros(20, int), attributes, (0, 0))
