import numpy as np
import pytest

from dat_lib.methods.roboshot import RoboShot
from dat_lib.methods.support.contract import Problem, run_method


def problem(seed=0, n=60, d=12, n_reject=4, n_accept=3):
    rng = np.random.default_rng(seed)
    return Problem(
        queries=rng.normal(size=(n, d)) * 3,
        text={
            "class": rng.normal(size=(2, d)),
            "reject": rng.normal(size=(n_reject, 2, d)) * rng.uniform(1, 9, size=(n_reject, 2, 1)),
            "accept": rng.normal(size=(n_accept, 2, d)) * rng.uniform(1, 9, size=(n_accept, 2, 1)),
        },
        n_classes=2,
        n_attributes=2,
        query_ids=np.array([f"q{i}" for i in range(n)]),
    )


def unit(v):
    return v / np.linalg.norm(v)


def literal_scores(given, variant):
    """The published loop: QR, then one column after the other, normalising each time."""
    harmful = np.linalg.qr(np.array([first - second for first, second in given.text["reject"]]).T)[0]
    helpful = np.linalg.qr(np.array([first - second for first, second in given.text["accept"]]).T)[0]
    scores = []
    for query in given.queries:
        z = unit(query)
        if variant != "accept":
            for q in harmful.T:
                z = unit(z - (z @ q) * q)
        if variant != "reject":
            for q in helpful.T:
                z = unit(z + (z @ q) * q)
        scores.append([z @ unit(w) for w in given.text["class"]])
    return np.array(scores)


@pytest.mark.parametrize("variant", ["both", "reject", "accept"])
def test_one_projection_equals_the_loop_over_columns(variant):
    given = problem()
    prediction = run_method(RoboShot(variant=variant), given)
    expected = literal_scores(given, variant)
    np.testing.assert_allclose(prediction.scores, expected, atol=1e-10)
    np.testing.assert_array_equal(prediction.labels, expected.argmax(axis=1))


def test_helpful_pairs_one_by_one_without_orthogonalisation():
    given = problem()
    scores = run_method(RoboShot(variant="accept", accept_along="pairs"), given).scores
    for query, row in zip(given.queries, scores, strict=True):
        z = unit(query)
        for first, second in given.text["accept"]:
            u = unit(first - second)
            z = unit(z + (z @ u) * u)
        np.testing.assert_allclose(row, [z @ unit(w) for w in given.text["class"]], atol=1e-10)


def test_directions_are_differences_of_raw_embeddings():
    given = problem()
    lengths = np.linalg.norm(given.text["reject"], axis=2, keepdims=True)
    text = {**given.text, "reject": given.text["reject"] / lengths}
    normalised = Problem(given.queries, text, 2, 2, given.query_ids)
    raw_scores = run_method(RoboShot(variant="reject"), given).scores
    assert not np.allclose(raw_scores, run_method(RoboShot(variant="reject"), normalised).scores)


def test_a_repeated_pair_adds_no_direction():
    given = problem()
    doubled = np.concatenate([given.text["reject"], given.text["reject"][:1]])
    again = Problem(given.queries, {**given.text, "reject": doubled}, 2, 2, given.query_ids)
    first, second = run_method(RoboShot(), given), run_method(RoboShot(), again)
    np.testing.assert_allclose(first.scores, second.scores, atol=1e-10)
    assert first.notes == second.notes == {"reject_rank": 4, "accept_rank": 3}


def test_a_variant_reads_only_its_own_pairs():
    assert RoboShot().needs.text == ("class", "reject", "accept")
    assert RoboShot(variant="reject").needs.text == ("class", "reject")
    assert RoboShot(variant="accept").needs.text == ("class", "accept")


def test_pairs_must_be_pairs():
    given = problem()
    text = {**given.text, "reject": np.ones((4, 3, 12))}
    with pytest.raises(ValueError, match=r"reject prompts have the shape \(4, 3\)"):
        run_method(RoboShot(), Problem(given.queries, text, 2, 2, given.query_ids))
