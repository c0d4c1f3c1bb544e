import numpy as np
import pytest

from dat_lib.methods.support.contract import Problem, run_method
from dat_lib.methods.zero_shot import ZeroShot


def problem(seed=0, n=30, n_classes=3, d=8):
    rng = np.random.default_rng(seed)
    return Problem(
        queries=rng.normal(size=(n, d)).astype(np.float32) * rng.uniform(0.1, 9, size=(n, 1)).astype(np.float32),
        text={"class": rng.normal(size=(n_classes, d)).astype(np.float32) * 5},
        n_classes=n_classes,
        n_attributes=2,
        query_ids=np.array([f"q{i}" for i in range(n)]),
    )


def test_predicts_the_class_with_the_largest_cosine():
    given = problem()
    prediction = run_method(ZeroShot(), given)
    for query, label, scores in zip(given.queries, prediction.labels, prediction.scores, strict=True):
        cosines = [float(query @ w) / float(np.linalg.norm(query) * np.linalg.norm(w)) for w in given.text["class"]]
        assert label == int(np.argmax(cosines))
        np.testing.assert_allclose(scores, cosines, atol=1e-5)


def test_lengths_of_images_and_prompts_do_not_matter():
    given = problem()
    stretched = problem()
    stretched.queries[::2] *= 17
    stretched.text["class"][1] *= 40
    np.testing.assert_array_equal(run_method(ZeroShot(), given).labels, run_method(ZeroShot(), stretched).labels)


def test_a_tie_goes_to_the_first_class():
    given = problem()
    given.text["class"][:] = given.text["class"][0]
    assert not run_method(ZeroShot(), given).labels.any()


def test_no_queries_give_no_labels():
    prediction = run_method(ZeroShot(), problem(n=0))
    assert prediction.labels.shape == (0,)
    assert prediction.scores.shape == (0, 3)


def test_a_prompt_without_direction_is_refused():
    given = problem()
    given.text["class"][2] = 0
    with pytest.raises(ValueError, match="class prompts"):
        run_method(ZeroShot(), given)
