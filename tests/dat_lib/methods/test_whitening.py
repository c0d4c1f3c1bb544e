from dataclasses import replace

import numpy as np
import pytest

from dat_lib.methods import whitening
from dat_lib.methods.support.contract import NotApplicableError, Problem, run_method
from dat_lib.methods.whitening import GroupPromptWhitened, ZeroShotWhitened, mean_and_whitening


def problem(seed=0, n=50, n_pool=200, n_classes=2, n_attributes=3, d=6):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(d, d))
    return Problem(
        queries=rng.normal(size=(n, d)) @ mixing + 1,
        text={
            "class": rng.normal(size=(n_classes, d)) + 2,
            "group": rng.normal(size=(n_classes, n_attributes, d)) + 2,
        },
        n_classes=n_classes,
        n_attributes=n_attributes,
        query_ids=np.array([f"q{i}" for i in range(n)]),
        pool=rng.normal(size=(n_pool, d)) @ mixing + 1,
        pool_ids=np.array([f"p{i}" for i in range(n_pool)]),
    )


def unit(v):
    return v / np.linalg.norm(v)


def literal_statistics(vectors, ridge):
    """Mean and inverse square root of the ridged covariance, by eigenvectors one at a time."""
    rows = np.array([unit(v) for v in vectors])
    mean = rows.mean(axis=0)
    sigma = sum(np.outer(v - mean, v - mean) for v in rows) / len(rows)
    sigma = sigma + ridge * np.trace(sigma) / len(sigma) * np.eye(len(sigma))
    values, axes = np.linalg.eigh(sigma)
    return mean, sum(np.outer(axis, axis) / np.sqrt(value) for value, axis in zip(values, axes.T, strict=True))


@pytest.mark.parametrize("ridge", [1e-3, 0.5])
@pytest.mark.parametrize("text_covariance", ["image", "prompts"])
@pytest.mark.parametrize(("method", "role"), [(ZeroShotWhitened, "class"), (GroupPromptWhitened, "group")])
def test_follows_the_formula(method, role, text_covariance, ridge):
    given = problem()
    prompts = given.text[role].reshape(-1, 6)
    image_mean, w_image = literal_statistics(given.pool, ridge)
    text_mean, w_text = literal_statistics(prompts, ridge)
    if text_covariance == "image":
        w_text = w_image
    expected = np.array(
        [
            [unit(w_image @ (unit(z) - image_mean)) @ unit(w_text @ (unit(p) - text_mean)) for p in prompts]
            for z in given.queries
        ]
    )
    expected = expected.reshape(len(given.queries), 2, -1).max(axis=2)
    prediction = run_method(method(ridge=ridge, text_covariance=text_covariance), given)
    np.testing.assert_allclose(prediction.scores, expected, atol=1e-8)
    assert prediction.notes["text_covariance"] == text_covariance


def test_whitened_vectors_have_unit_covariance_and_the_map_is_symmetric():
    vectors = problem().pool
    mean, w = mean_and_whitening(vectors, 0.0, "pool")
    np.testing.assert_allclose(np.cov(((vectors - mean) @ w).T, bias=True), np.eye(6), atol=1e-9)
    np.testing.assert_allclose(w, w.T)


def test_blocks_do_not_change_the_covariance(monkeypatch):
    vectors = problem().pool
    _, whole = mean_and_whitening(vectors, 1e-3, "pool")
    monkeypatch.setattr(whitening, "BLOCK", 7)
    np.testing.assert_allclose(mean_and_whitening(vectors, 1e-3, "pool")[1], whole)


def test_a_singular_covariance_needs_a_ridge():
    few = problem(n_pool=4)
    with pytest.raises(ValueError, match="give a larger ridge"):
        run_method(ZeroShotWhitened(ridge=0), few)
    assert run_method(ZeroShotWhitened(ridge=1e-3), few).labels.shape == (50,)


def test_the_ridge_must_not_be_negative():
    with pytest.raises(ValueError, match=r"ridge = -1\.0 must be at least 0"):
        GroupPromptWhitened(ridge=-1)


def test_a_pool_of_equal_images_has_no_covariance_whatever_the_ridge():
    given = problem()
    same = replace(given, pool=np.repeat(given.pool[:1], 3, axis=0), pool_ids=given.pool_ids[:3])
    with pytest.raises(NotApplicableError, match="all 3 vectors of the pool are the same"):
        run_method(ZeroShotWhitened(ridge=1.0), same)
