import numpy as np
import pytest

from dat_lib.methods.ideal_words import IdealWords
from dat_lib.methods.support.contract import Problem, run_method


def problem(seed=0, n=80, n_classes=3, n_attributes=4, d=8):
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.5, 4, size=(n_classes, n_attributes, 1))
    return Problem(
        queries=rng.normal(size=(n, d)),
        text={"group": (rng.normal(size=(n_classes, n_attributes, d)) + 1) * lengths},
        n_classes=n_classes,
        n_attributes=n_attributes,
        query_ids=np.array([f"q{i}" for i in range(n)]),
    )


def unit(v):
    return v / np.linalg.norm(v)


@pytest.mark.parametrize("normalise_before", [True, False])
@pytest.mark.parametrize("vector", ["sum", "word"])
def test_follows_the_definition_of_ideal_words(normalise_before, vector):
    given = problem()
    u = given.text["group"]
    n_classes, n_attributes = u.shape[:2]
    if normalise_before:
        u = np.array([[unit(u[y, a]) for a in range(n_attributes)] for y in range(n_classes)])
    u_0 = sum(u[y, a] for y in range(n_classes) for a in range(n_attributes)) / (n_classes * n_attributes)
    words = [sum(u[y, a] for a in range(n_attributes)) / n_attributes - u_0 for y in range(n_classes)]
    vectors = [unit(u_0 + word) if vector == "sum" else unit(word) for word in words]
    expected = [[unit(query) @ c for c in vectors] for query in given.queries]
    prediction = run_method(IdealWords(normalise_before=normalise_before, vector=vector), given)
    np.testing.assert_allclose(prediction.scores, expected, atol=1e-12)
    np.testing.assert_array_equal(prediction.labels, np.argmax(expected, axis=1))


def test_the_class_vector_is_the_mean_over_attributes():
    given = problem()
    u = given.text["group"] / np.linalg.norm(given.text["group"], axis=2, keepdims=True)
    averaged = Problem(given.queries, {"group": u.mean(axis=1)[:, None]}, 3, 1, given.query_ids)
    np.testing.assert_allclose(
        run_method(IdealWords(), given).scores,
        run_method(IdealWords(normalise_before=False), averaged).scores,
        atol=1e-12,
    )
