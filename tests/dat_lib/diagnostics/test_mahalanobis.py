import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf, oas

from dat_lib.columns import columns
from dat_lib.diagnostics.mahalanobis import prompt_distances, tangent_spread
from dat_lib.diagnostics.sphere import exp_map, frechet_mean, log_map
from tests.dat_lib.literal import unit

seeds = st.integers(0, 10_000)


def cloud(seed, size, dim):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(size, dim)) * np.linspace(0.1, 1, dim) + 2 * np.eye(dim)[0] + 0.5


def literal(points, prompts, shrink):
    """TMD in an explicit basis of the tangent space, with scikit-learn's shrinkage and a plain inverse."""
    mean = frechet_mean(points)
    basis = np.linalg.svd(mean[None])[2][1:]
    covariance, share = shrink(log_map(mean, points) @ basis.T)
    tangents = log_map(mean, prompts) @ basis.T
    return np.sqrt(np.einsum("ij,jk,ik->i", tangents, np.linalg.inv(covariance), tangents)), share


@pytest.mark.parametrize(("name", "shrink"), [("ledoit_wolf", ledoit_wolf), ("oas", oas)])
@settings(deadline=None, max_examples=25)
@given(seed=seeds, size=st.integers(3, 40), dim=st.integers(3, 20))
def test_distances_are_those_of_the_shrunk_covariance_in_a_tangent_basis(name, shrink, seed, size, dim):
    points = cloud(seed, size, dim)
    prompts = unit(np.random.default_rng(seed + 1).normal(size=(3, dim)))
    expected, share = literal(points, prompts, lambda tangents: shrink(tangents, assume_centered=True))
    spread = tangent_spread(points, shrinkage=name)
    assert spread.shrinkage == pytest.approx(share, abs=1e-9)
    np.testing.assert_allclose(spread.distances(prompts).shrunk, expected, rtol=1e-6)


def test_without_shrinkage_and_with_samples_enough_it_is_the_papers_formula():
    points, prompts = cloud(0, 50, 6), unit(np.random.default_rng(1).normal(size=(4, 6)))
    expected, _ = literal(points, prompts, lambda tangents: (tangents.T @ tangents / len(tangents), 0.0))
    found = tangent_spread(points, shrinkage=0.0).distances(prompts)
    np.testing.assert_allclose(found.shrunk, expected, rtol=1e-9)
    np.testing.assert_allclose(found.pseudo_inverse, expected, rtol=1e-9)
    np.testing.assert_allclose(found.outside, 0, atol=1e-9)


def test_with_too_few_samples_the_plain_inverse_is_infinite_and_the_pseudo_inverse_sees_the_span_alone():
    points, prompts = cloud(0, 4, 9), unit(np.random.default_rng(1).normal(size=(3, 9)))
    spread = tangent_spread(points, shrinkage=0.0)
    found = spread.distances(prompts)
    assert np.isinf(found.shrunk).all()
    tangents = log_map(spread.mean, prompts)
    samples = log_map(spread.mean, points)
    pseudo = np.linalg.pinv(samples.T @ samples / 4, rcond=1e-9, hermitian=True)
    np.testing.assert_allclose(found.pseudo_inverse, np.sqrt(np.einsum("ij,jk,ik->i", tangents, pseudo, tangents)))
    inside = tangents @ np.linalg.pinv(samples, rcond=1e-9) @ samples
    np.testing.assert_allclose(found.outside, 1 - (inside**2).sum(axis=1) / (tangents**2).sum(axis=1))


def test_a_group_that_spreads_alike_everywhere_gives_the_angle_in_its_own_unit():
    mean, angle = np.eye(5)[0], 0.3
    points = exp_map(mean, angle * np.concatenate([np.eye(5)[1:], -np.eye(5)[1:]]))
    prompts = unit(np.random.default_rng(2).normal(size=(6, 5)))
    deviation = angle / 2
    for shrinkage in (0.0, 0.4, 1.0, "ledoit_wolf"):
        found = tangent_spread(points, shrinkage=shrinkage).distances(prompts)
        np.testing.assert_allclose(found.angle, np.arccos(prompts @ mean), rtol=1e-6)
        np.testing.assert_allclose(found.shrunk, found.angle / deviation, rtol=1e-6)


@settings(deadline=None, max_examples=20)
@given(seed=seeds)
def test_distances_do_not_change_when_all_is_turned(seed):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    points, prompts = cloud(seed, 12, 8), rng.normal(size=(3, 8))
    first = tangent_spread(points).distances(prompts)
    second = tangent_spread(points @ turn).distances(prompts @ turn)
    np.testing.assert_allclose(first.shrunk, second.shrunk, rtol=1e-6)


def world(sizes=(30, 12, 20), dim=7):
    groups = [(0, 0), (0, 1), (2, 1)]
    labels = np.repeat([y for y, _ in groups], sizes)
    attributes = np.repeat([a for _, a in groups], sizes)
    return np.concatenate([cloud(i, size, dim) for i, size in enumerate(sizes)]), labels, attributes


def test_groups_are_measured_at_equal_size():
    embeddings, labels, attributes = world()
    prompts = np.random.default_rng(9).normal(size=(2, 7))
    found = prompt_distances(embeddings, labels, attributes, prompts, repeats=3)
    assert set(found.size) == {12}
    assert sorted(set(zip(found.label, found.attribute, found.available, strict=True))) == [
        (0, 0, 30),
        (0, 1, 12),
        (2, 1, 20),
    ]
    assert len(columns(found)["distance"]) == 2 * 3 * 3
    whole = (found.label == 0) & (found.attribute == 1)
    expected = tangent_spread(embeddings[30:42]).distances(prompts)
    for repeat in range(3):
        chosen = whole & (found.repeat == repeat)
        np.testing.assert_array_equal(found.prompt[chosen], [0, 1])
        np.testing.assert_allclose(found.distance[chosen], expected.shrunk)
        np.testing.assert_allclose(found.distance_pseudo_inverse[chosen], expected.pseudo_inverse)
    assert len(set(found.distance[(found.label == 0) & (found.attribute == 0) & (found.prompt == 0)])) == 3


def test_a_group_is_measured_alike_whatever_the_others_hold():
    embeddings, labels, attributes = world()
    prompts = np.random.default_rng(9).normal(size=(2, 7))
    every = prompt_distances(embeddings, labels, attributes, prompts, size=10, seed=3)
    last = labels == 2
    alone = prompt_distances(embeddings[last], labels[last], attributes[last], prompts, size=10, seed=3)
    np.testing.assert_array_equal(every.distance[every.label == 2], alone.distance)
    again = prompt_distances(embeddings, labels, attributes, prompts, size=10, seed=3)
    np.testing.assert_array_equal(every.distance, again.distance)


def test_samples_that_no_attribute_describes_are_left_out():
    embeddings, labels, attributes = world()
    attributes = np.where(labels == 2, -1, attributes)
    found = prompt_distances(embeddings, labels, attributes, embeddings[:1])
    assert set(found.label) == {0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 13}, r"size=13 samples per group cannot be had: group \(0, 1\) has 12"),
        ({"size": 1}, "size=1 samples"),
        ({"repeats": 0}, "repeats must be 1 or more"),
        ({"shrinkage": 1.5}, r"shrinkage must lie in \[0, 1\]"),
        ({"shrinkage": "none"}, "shrinkage must be one of ledoit_wolf, oas or a share, not 'none'"),
        ({"prompts": np.ones((1, 3))}, "dimension 3 where 7 is needed"),
        ({"prompts": np.ones((0, 7))}, "no groups or no prompts"),
    ],
)
def test_bad_input_is_refused(change, message):
    embeddings, labels, attributes = world()
    arguments = {"prompts": np.ones((1, 7)), **change}
    with pytest.raises(ValueError, match=message):
        prompt_distances(embeddings, labels, attributes, **arguments)


def test_points_without_spread_are_refused():
    with pytest.raises(ValueError, match="all equal"):
        tangent_spread(np.ones((5, 4)))
    with pytest.raises(ValueError, match="2 points or more"):
        tangent_spread(np.ones((1, 4)))
