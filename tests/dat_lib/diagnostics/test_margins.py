import numpy as np
import pytest

from dat_lib.columns import columns
from dat_lib.diagnostics.margins import margin_histograms, score_margins
from dat_lib.translation import Similarities, translate


@pytest.fixture
def measured():
    rng = np.random.default_rng(1)
    similarity = Similarities(rng.uniform(0.1, 0.3, (12, 3)), rng.uniform(0.1, 0.3, (12, 3, 2)))
    return similarity, np.log(rng.uniform(0.8, 1.5, (12, 3, 2))), rng.integers(0, 3, 12), rng.integers(-1, 2, 12)


@pytest.mark.parametrize("score", ["ratio", "logit"])
def test_margins_are_those_of_the_class_scores(measured, score):
    similarity, log_density, labels, attributes = measured
    found = score_margins(*measured, strength=4.0, score=score, temperature=0.05)
    scores = {
        "zero_shot": similarity.classes,
        "dat": translate(similarity, log_density, strength=4.0, score=score, temperature=0.05),
    }
    density = np.exp(log_density) + 1e-8
    if score == "ratio":
        translated = similarity.groups / density**4
    else:
        translated = similarity.groups / 0.05 - 4 * np.log(density)
    groups = {"zero_shot": similarity.groups, "dat": translated}
    assert len(columns(found)["margin"]) == 24
    for method, table in scores.items():
        chosen = found.method == method
        for i in range(12):
            others = [table[i, y] for y in range(3) if y != labels[i]]
            assert found.margin[chosen][i] == pytest.approx(table[i, labels[i]] - max(others))
            assert found.correct[chosen][i] == (int(np.argmax(table[i])) == labels[i])
            assert found.spread[chosen][i] == pytest.approx(groups[method][i].max() - groups[method][i].min())
        size = np.sqrt((found.margin[chosen] ** 2).mean())
        np.testing.assert_allclose(found.standardised[chosen], found.margin[chosen] / size)
        assert found.row[chosen].tolist() == list(range(12))
        assert found.attribute[chosen].tolist() == attributes.tolist()


def test_at_strength_zero_the_spread_of_dat_is_that_of_the_cosines(measured):
    found = score_margins(*measured, strength=0.0)
    np.testing.assert_allclose(found.spread[found.method == "dat"], found.spread[found.method == "zero_shot"])


def test_groups_without_references_do_not_widen_the_spread(measured):
    similarity, log_density, labels, attributes = measured
    log_density[:, 2, 1] = np.inf
    found = score_margins(similarity, log_density, labels, attributes, strength=1.0)
    kept = (similarity.groups / (np.exp(log_density) + 1e-8)).reshape(12, 6)[:, :5]
    np.testing.assert_allclose(found.spread[found.method == "dat"], kept.max(axis=1) - kept.min(axis=1))


def test_histograms_of_both_methods_share_their_bins(measured):
    found = margin_histograms(score_margins(*measured), bins=7)
    assert columns(found)["series"].tolist() == ["zero_shot"] * 7 + ["dat"] * 7
    np.testing.assert_array_equal(found.low[:7], found.low[7:])


def test_bad_input_is_refused(measured):
    similarity, log_density, labels, attributes = measured
    one = Similarities(similarity.classes[:, :1], similarity.groups[:, :1])
    with pytest.raises(ValueError, match="2 classes or more"):
        score_margins(one, log_density[:, :1], np.zeros(12, int), attributes)
    with pytest.raises(ValueError, match="no samples"):
        score_margins(Similarities(similarity.classes[:0], similarity.groups[:0]), log_density[:0], [], [])
    with pytest.raises(ValueError, match="labels must lie in"):
        score_margins(similarity, log_density, labels + 5, attributes)
    with pytest.raises(ValueError, match="log_density has the shape"):
        score_margins(similarity, log_density[:2], labels, attributes)
