import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.translation import Similarities, similarities, sweep, translate
from tests.dat_lib.literal import unit

ALL_TERMS = ("both", "group", "average")
seeds = st.integers(0, 10_000)


def random_case(seed, queries=9, classes=3, attributes=2, lowest=0.1, absent=0.0):
    rng = np.random.default_rng(seed)
    similarity = Similarities(
        rng.uniform(lowest, 0.4, (queries, classes)), rng.uniform(lowest, 0.4, (queries, classes, attributes))
    )
    log_density = rng.normal(0.1, 0.3, (queries, classes, attributes))
    log_density[:, rng.random((classes, attributes)) < absent] = np.inf
    return similarity, log_density


def quotient(similarity, log_density, strength, terms, epsilon=1e-8):
    """The paper's score, one pair at a time; an absent group adds 0 and takes no part in the largest."""
    N, K, M = log_density.shape
    scores = np.empty((N, K))
    for i, y in np.ndindex(N, K):
        translated = [
            similarity.groups[i, y, a] / (math.exp(log_density[i, y, a]) + epsilon) ** strength
            if log_density[i, y, a] < math.inf
            else 0.0
            for a in range(M)
        ]
        average = (sum(translated) + similarity.classes[i, y]) / (M + 1)
        group = max((t for a, t in enumerate(translated) if log_density[i, y, a] < math.inf), default=-math.inf)
        scores[i, y] = {"both": max(group, average), "group": group, "average": average}[terms]
    return scores


def logits(similarity, log_density, strength, terms, temperature, epsilon=1e-8):
    N, K, M = log_density.shape
    scores = np.empty((N, K))
    for i, y in np.ndindex(N, K):
        margins = [
            similarity.groups[i, y, a] / temperature - strength * math.log(math.exp(log_density[i, y, a]) + epsilon)
            for a in range(M)
            if log_density[i, y, a] < math.inf
        ]
        total = sum(map(math.exp, [*margins, similarity.classes[i, y] / temperature]))
        average, group = math.log(total / (M + 1)), max(margins, default=-math.inf)
        scores[i, y] = {"both": max(group, average), "group": group, "average": average}[terms]
    return scores


@pytest.mark.parametrize("terms", ALL_TERMS)
@settings(deadline=None, max_examples=25)
@given(
    seed=seeds,
    strength=st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0]),
    classes=st.integers(1, 4),
    attributes=st.integers(1, 4),
    lowest=st.sampled_from([0.1, -0.3]),
    absent=st.sampled_from([0.0, 0.4]),
)
def test_quotient_scores_are_the_papers(terms, seed, strength, classes, attributes, lowest, absent):
    similarity, log_density = random_case(seed, 5, classes, attributes, lowest, absent)
    found = translate(similarity, log_density, strength=strength, terms=terms)
    np.testing.assert_allclose(found, quotient(similarity, log_density, strength, terms), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("terms", ALL_TERMS)
@settings(deadline=None, max_examples=25)
@given(seed=seeds, strength=st.sampled_from([0.0, 1.0, 10.0]), absent=st.sampled_from([0.0, 0.4]))
def test_logit_scores_are_those_of_the_theory(terms, seed, strength, absent):
    similarity, log_density = random_case(seed, lowest=-0.3, absent=absent)
    found = translate(similarity, log_density, strength=strength, terms=terms, score="logit", temperature=0.05)
    np.testing.assert_allclose(found, logits(similarity, log_density, strength, terms, 0.05), rtol=1e-12)


@pytest.mark.parametrize("terms", ALL_TERMS)
@settings(deadline=None, max_examples=20)
@given(seed=seeds, strength=st.sampled_from([0.0, 1.0, 10.0]), absent=st.sampled_from([0.0, 0.4]))
def test_the_logit_is_the_logarithm_of_the_quotient_of_exponentials(terms, seed, strength, absent):
    similarity, log_density = random_case(seed, absent=absent)
    exponentials = Similarities(np.exp(similarity.classes / 0.1), np.exp(similarity.groups / 0.1))
    logit = translate(similarity, log_density, strength=strength, terms=terms, score="logit", temperature=0.1)
    ratio = translate(exponentials, log_density, strength=strength, terms=terms)
    with np.errstate(divide="ignore"):
        expected = np.where(ratio == -np.inf, -np.inf, np.log(np.maximum(ratio, 0)))
    np.testing.assert_allclose(logit, expected, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=15)
@given(seed=seeds, score=st.sampled_from(["ratio", "logit"]), absent=st.sampled_from([0.0, 0.3]))
def test_a_sweep_is_every_setting_by_itself(seed, score, absent):
    similarity, _ = random_case(seed, 40)
    densities = [random_case(seed + i, 40, absent=absent)[1] for i in (1, 2, 3)]
    strengths = [0.5, 1.0, 7.0, 10.0]
    found = sweep(similarity, densities, strengths=strengths, terms=ALL_TERMS, score=score)
    assert found.shape == (3, 4, 3, 40)
    for i, log_density in enumerate(densities):
        for j, strength in enumerate(strengths):
            for m, terms in enumerate(ALL_TERMS):
                scores = translate(similarity, log_density, strength=strength, terms=terms, score=score)
                np.testing.assert_array_equal(found[i, j, m], scores.argmax(axis=1))


def test_blocks_change_nothing(monkeypatch):
    from dat_lib import translation

    similarity, log_density = random_case(0, 300, absent=0.2)
    whole = translate(similarity, log_density, strength=10.0)
    monkeypatch.setattr(translation, "BLOCK_PAIRS", 50)
    np.testing.assert_array_equal(translate(similarity, log_density, strength=10.0), whole)


def test_a_density_of_zero_is_kept_from_infinity_by_epsilon():
    similarity = Similarities(np.full((1, 2), 0.2), np.full((1, 2, 1), 0.2))
    log_density = np.array([[[-np.inf], [0.0]]])
    scores = translate(similarity, log_density, strength=10.0, terms="group")
    np.testing.assert_allclose(scores, [[0.2e80, 0.2]], rtol=1e-6)


def test_no_strength_changes_who_wins_by_overflow():
    similarity = Similarities(np.full((2, 2), 0.2), np.full((2, 2, 1), 0.2))
    for log_density in (np.array([[[-3.0], [-3.1]]] * 2), np.array([[[30.2], [30.0]]] * 2)):
        for terms in ALL_TERMS if log_density[0, 0, 0] < 0 else ("group",):
            found = sweep(similarity, [log_density], strengths=[10.0, 200.0, 1000.0], terms=[terms])
            assert (found == 1).all()


def test_strength_10_is_finite_in_single_precision_input():
    similarity = Similarities(np.full((1, 2), 0.2, np.float32), np.full((1, 2, 2), 0.2, np.float32))
    log_density = np.array([[[-9.0, 9.0], [-8.9, 12.0]]], np.float32)
    scores = translate(similarity, log_density, strength=10.0)
    assert np.isfinite(scores).all()
    assert scores[0, 0] > scores[0, 1] > 1e30


def test_a_group_without_references_never_wins():
    similarity = Similarities(np.array([[-0.2, -0.3]]), np.array([[[-0.1, -0.1], [0.9, -0.1]]]))
    log_density = np.array([[[0.0, 0.0], [np.inf, 0.0]]])
    group = translate(similarity, log_density, strength=1.0, terms="group")
    np.testing.assert_allclose(group, [[-0.1, -0.1]], rtol=1e-6)
    average = translate(similarity, log_density, strength=1.0, terms="average")
    np.testing.assert_allclose(average, [[-0.4 / 3, -0.4 / 3]], rtol=1e-6)
    logit = translate(similarity, log_density, strength=1.0, terms="group", score="logit", temperature=1.0)
    np.testing.assert_allclose(logit, [[-0.1, -0.1]], atol=1e-6)


def test_a_class_without_references_is_scored_by_its_own_prompt():
    similarity = Similarities(np.array([[0.3, 0.3]]), np.array([[[0.9, 0.9], [0.2, 0.2]]]))
    log_density = np.array([[[np.inf, np.inf], [0.0, 0.0]]])
    np.testing.assert_allclose(translate(similarity, log_density, strength=10.0)[0, 0], 0.1)
    assert translate(similarity, log_density, strength=10.0, terms="group")[0, 0] == -np.inf


def test_negative_similarities_are_counted():
    similarity = Similarities(np.array([[0.1, -0.2]]), np.array([[[0.0, -0.1], [-0.3, 0.2]]]))
    assert similarity.negative == 3
    assert similarity.negative_share == 0.5
    assert Similarities(np.empty((0, 2)), np.empty((0, 2, 2))).negative_share == 0


def test_similarities_are_cosines():
    rng = np.random.default_rng(0)
    queries, of_class, of_group = rng.normal(size=(9, 8)), rng.normal(size=(3, 8)) * 5, rng.normal(size=(3, 2, 8)) * 7
    found = similarities(queries, of_class, of_group)
    np.testing.assert_allclose(found.classes, unit(queries) @ unit(of_class).T)
    np.testing.assert_allclose(found.groups, np.einsum("nd,kmd->nkm", unit(queries), unit(of_group)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terms": "mean"}, "terms must be one of both, group, average, not 'mean'"),
        ({"score": "log"}, "score must be one of ratio, logit, not 'log'"),
        ({"strength": -1.0}, "strength must be finite and not negative, not -1.0"),
        ({"epsilon": 0.0}, "epsilon must be finite and positive, not 0.0"),
        ({"temperature": math.inf}, "temperature must be finite and positive, not inf"),
        ({"log_density": np.ones((1, 2, 2))}, r"log_density has the shape \(1, 2, 2\) where \(9, 3, 2\) is needed"),
    ],
)
def test_settings_out_of_range_are_refused(changes, message):
    similarity, log_density = random_case(0)
    with pytest.raises(ValueError, match=message):
        translate(similarity, **{"log_density": log_density, "strength": 1.0, **changes})
