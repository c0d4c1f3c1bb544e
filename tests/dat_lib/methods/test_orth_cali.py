from itertools import combinations

import numpy as np
import pytest

from dat_lib.methods.orth_cali import OrthCali, OrthProj
from dat_lib.methods.support.contract import NotApplicableError, Problem, run_method


def problem(seed=0, n=60, n_classes=2, d=12, n_spurious=3, n_candidates=4):
    rng = np.random.default_rng(seed)
    return Problem(
        queries=rng.normal(size=(n, d)),
        text={
            "class": rng.normal(size=(n_classes, d)) * 2,
            "spurious": rng.normal(size=(n_spurious, d)) * 3,
            "candidate": rng.normal(size=(n_classes, n_candidates, d)) + 1,
        },
        n_classes=n_classes,
        n_attributes=2,
        query_ids=np.array([f"q{i}" for i in range(n)]),
    )


def rows_to_unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def literal_class_vectors(given, strength):
    """The closed form, with an explicit basis, matrix and inverse."""
    a = rows_to_unit(given.text["spurious"])
    basis = np.linalg.qr(a.T)[0]
    d = a.shape[1]
    p_0 = np.eye(d) - basis @ np.linalg.inv(basis.T @ basis) @ basis.T
    candidates = rows_to_unit(given.text["candidate"])
    m = np.zeros((d, d))
    pairs = [(y, i, j) for y in range(len(candidates)) for i, j in combinations(range(candidates.shape[1]), 2)]
    for y, i, j in pairs:
        difference = (candidates[y, i] - candidates[y, j])[:, None]
        m += difference @ difference.T / len(pairs)
    p = p_0 @ np.linalg.inv(np.eye(d) + strength * m)
    return rows_to_unit(np.array([p @ q for q in rows_to_unit(given.text["class"])])), p_0, m


@pytest.mark.parametrize("strength", [0.5, 10.0, 1000.0])
def test_follows_the_closed_form(strength):
    given = problem()
    vectors, _, _ = literal_class_vectors(given, strength)
    prediction = run_method(OrthCali(strength=strength), given)
    np.testing.assert_allclose(prediction.scores, rows_to_unit(given.queries) @ vectors.T, atol=1e-9)


def test_the_closed_form_minimises_its_objective():
    given = problem()
    _, p_0, m = literal_class_vectors(given, 3.0)

    def objective(p):
        return np.sum((p - p_0) ** 2) + 3.0 * np.trace(p @ m @ p.T)

    best = p_0 @ np.linalg.inv(np.eye(len(m)) + 3.0 * m)
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert objective(best) < objective(best + 1e-3 * rng.normal(size=best.shape))


def test_without_strength_it_is_the_plain_projection():
    given = problem()
    _, p_0, _ = literal_class_vectors(given, 0.0)
    projected = rows_to_unit(rows_to_unit(given.text["class"]) @ p_0.T)
    expected = rows_to_unit(given.queries) @ projected.T
    np.testing.assert_allclose(run_method(OrthProj(), given).scores, expected, atol=1e-9)
    np.testing.assert_allclose(run_method(OrthCali(strength=0), given).scores, expected, atol=1e-9)
    assert OrthCali(strength=0).needs == OrthProj().needs
    assert OrthCali().needs.text == ("class", "spurious", "candidate")


def test_class_vectors_are_free_of_spurious_directions():
    given = problem(n=3)
    moved = Problem(rows_to_unit(given.text["spurious"]), given.text, 2, 2, np.array(["a", "b", "c"]))
    np.testing.assert_allclose(run_method(OrthCali(), moved).scores, 0, atol=1e-9)


def test_a_repeated_spurious_prompt_changes_nothing():
    given = problem()
    doubled = np.concatenate([given.text["spurious"], given.text["spurious"][:1] * (1 + 1e-7)])
    again = Problem(given.queries, {**given.text, "spurious": doubled}, 2, 2, given.query_ids)
    first, second = run_method(OrthCali(), given), run_method(OrthCali(), again)
    np.testing.assert_allclose(first.scores, second.scores, atol=1e-6)
    assert first.notes == second.notes == {"spurious_rank": 3}


def test_common_roles_stand_in_for_missing_ones():
    given = problem(n_spurious=2, n_candidates=2)
    text = {
        "class": given.text["class"],
        "attribute": given.text["spurious"],
        "group": given.text["candidate"],
    }
    common = Problem(given.queries, text, 2, 2, given.query_ids)
    np.testing.assert_array_equal(run_method(OrthCali(), given).scores, run_method(OrthCali(), common).scores)


def test_spurious_prompts_that_span_everything_leave_nothing_to_classify_by():
    with pytest.raises(NotApplicableError, match="nothing would remain"):
        run_method(OrthProj(), problem(d=3))


@pytest.mark.parametrize("shape", [(3, 4), (8,)])
def test_candidates_of_the_wrong_shape_are_refused(shape):
    given = problem()
    text = {**given.text, "candidate": np.ones((*shape, 12))}
    with pytest.raises(ValueError, match="candidate prompts have the shape"):
        run_method(OrthCali(), Problem(given.queries, text, 2, 2, given.query_ids))


def test_one_candidate_a_class_makes_no_pairs():
    with pytest.raises(NotApplicableError, match="no pairs"):
        run_method(OrthCali(), problem(n_candidates=1))


def test_a_class_prompt_among_the_spurious_ones_has_no_direction_left_but_roundings():
    given = problem()
    text = {**given.text, "spurious": np.concatenate([given.text["spurious"], given.text["class"][1:] * 0.7])}
    with pytest.raises(NotApplicableError, match="nothing remains of 1 of 2 projected class prompts"):
        run_method(OrthProj(), Problem(given.queries, text, 2, 2, given.query_ids))
