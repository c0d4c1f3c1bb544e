from dataclasses import replace

import numpy as np
import pytest

from dat_lib.methods.support.contract import NotApplicableError, Problem, run_method
from dat_lib.methods.tie import Tie, TieStar, translation_scales


def problem(seed=0, n=50, n_pool=90, n_attributes=3, d=8):
    rng = np.random.default_rng(seed)
    return Problem(
        queries=rng.normal(size=(n, d)) * rng.uniform(1, 9, size=(n, 1)),
        text={"class": rng.normal(size=(2, d)), "attribute": rng.normal(size=(n_attributes, d)) * 4},
        n_classes=2,
        n_attributes=n_attributes,
        query_ids=np.array([f"q{i}" for i in range(n)]),
        query_attributes=rng.integers(n_attributes, size=n),
        pool=rng.normal(size=(n_pool, d)) * rng.uniform(1, 9, size=(n_pool, 1)) + 1,
        pool_ids=np.array([f"p{i}" for i in range(n_pool)]),
        pool_attributes=rng.integers(n_attributes, size=n_pool),
    )


def unit(v):
    return v / np.linalg.norm(v)


def literal(given, query_attributes, pool_attributes, normalise_before=True):
    directions = [unit(w) for w in given.text["attribute"]]
    scales = [
        np.mean([unit(z) @ v for z, b in zip(given.pool, pool_attributes, strict=True) if b == a])
        for a, v in enumerate(directions)
    ]
    scores = []
    for z, a in zip(given.queries, query_attributes, strict=True):
        start = unit(z) if normalise_before else z
        moved = unit(start - scales[a] * directions[a])
        scores.append([moved @ unit(w) for w in given.text["class"]])
    return np.array(scores), scales


@pytest.mark.parametrize("normalise_before", [True, False])
def test_tie_moves_by_the_true_attribute(normalise_before):
    given = problem()
    expected, scales = literal(given, given.query_attributes, given.pool_attributes, normalise_before)
    prediction = run_method(Tie(normalise_before=normalise_before), given)
    np.testing.assert_allclose(prediction.scores, expected, atol=1e-12)
    np.testing.assert_allclose(prediction.notes["scales"], scales)


@pytest.mark.parametrize("normalise_before", [True, False])
def test_tie_star_infers_the_attribute_in_both_places(normalise_before):
    given = problem()
    v = given.text["attribute"] / np.linalg.norm(given.text["attribute"], axis=1, keepdims=True)
    query_attributes, pool_attributes = (given.queries @ v.T).argmax(1), (given.pool @ v.T).argmax(1)
    expected, _ = literal(given, query_attributes, pool_attributes, normalise_before)
    prediction = run_method(TieStar(normalise_before=normalise_before), given)
    np.testing.assert_allclose(prediction.scores, expected, atol=1e-12)
    assert prediction.notes["inferred_query_attributes"] == np.bincount(query_attributes, minlength=3).tolist()
    assert prediction.notes["inferred_pool_attributes"] == np.bincount(pool_attributes, minlength=3).tolist()


def test_scales_on_a_toy_set():
    pool = np.array([[2.0, 0.0], [3.0, 3.0], [0.0, 5.0]])
    scales = translation_scales(pool, np.array([0, 0, 1]), np.eye(2))
    assert scales == pytest.approx([(1 + np.sqrt(0.5)) / 2, 1.0])


def test_a_query_or_pool_image_without_attribute_is_left_alone():
    given = problem()
    query_attributes, pool_attributes = given.query_attributes.copy(), given.pool_attributes.copy()
    query_attributes[:4] = -1
    pool_attributes[:10] = -1
    with_gaps = replace(given, query_attributes=query_attributes, pool_attributes=pool_attributes)
    prediction = run_method(Tie(), with_gaps)
    fewer = replace(with_gaps, pool=given.pool[10:], pool_ids=given.pool_ids[10:], pool_attributes=pool_attributes[10:])
    np.testing.assert_array_equal(prediction.scores, run_method(Tie(), fewer).scores)
    assert prediction.notes["queries_without_attribute"] == 4
    for z, row in zip(given.queries[:4], prediction.scores, strict=False):
        np.testing.assert_allclose(row, [unit(z) @ unit(w) for w in given.text["class"]], atol=1e-12)


def test_an_attribute_that_the_pool_lacks_moves_nothing_and_is_noted():
    given = problem()
    lacking = replace(given, pool_attributes=np.where(given.pool_attributes == 2, 0, given.pool_attributes))
    prediction = run_method(Tie(), lacking)
    assert prediction.notes["attributes_without_scale"] == [2]
    assert prediction.notes["scales"][2] is None
    of_it = given.query_attributes == 2
    plain = [[unit(z) @ unit(w) for w in given.text["class"]] for z in given.queries[of_it]]
    np.testing.assert_allclose(prediction.scores[of_it], plain, atol=1e-12)


def test_a_pool_without_attributes_gives_nothing_to_move_by():
    given = problem()
    unknown = replace(given, pool_attributes=np.full(len(given.pool), -1))
    with pytest.raises(NotApplicableError, match="nothing to move by"):
        run_method(Tie(), unknown)
