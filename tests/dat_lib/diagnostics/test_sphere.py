import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.diagnostics.sphere import exp_map, frechet_mean, log_map
from tests.dat_lib.literal import unit

seeds = st.integers(0, 10_000)


@settings(deadline=None, max_examples=60)
@given(seed=seeds, dim=st.integers(2, 40), count=st.integers(0, 6))
def test_the_maps_undo_each_other(seed, dim, count):
    rng = np.random.default_rng(seed)
    base, points = unit(rng.normal(size=dim)), unit(rng.normal(size=(count, dim)))
    tangents = log_map(base, points)
    np.testing.assert_allclose(tangents @ base, 0, atol=1e-12)
    np.testing.assert_allclose(exp_map(base, tangents), points, atol=1e-12)
    short = tangents * rng.uniform(0, 0.99, (count, 1))
    np.testing.assert_allclose(log_map(base, exp_map(base, short)), short, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(seed=seeds, dim=st.integers(2, 20), exponent=st.floats(-12, 0.49))
def test_the_logarithm_is_as_long_as_the_angle_however_small(seed, dim, exponent):
    rng = np.random.default_rng(seed)
    base = unit(rng.normal(size=dim))
    across = rng.normal(size=dim)
    across = unit(across - (across @ base) * base)
    angle = 10**exponent
    tangent = log_map(base, [math.cos(angle) * base + math.sin(angle) * across])[0]
    np.testing.assert_allclose(tangent, angle * across, atol=1e-7 * angle + 1e-15)


def test_the_logarithm_is_the_formula():
    rng = np.random.default_rng(0)
    base, point = unit(rng.normal(size=5)), unit(rng.normal(size=5))
    theta = math.acos(base @ point)
    expected = theta / math.sin(theta) * (point - math.cos(theta) * base)
    np.testing.assert_allclose(log_map(base, [point * 7])[0], expected, rtol=1e-12)
    np.testing.assert_array_equal(log_map(base, [base])[0], np.zeros(5))


@settings(deadline=None, max_examples=30)
@given(seed=seeds, dim=st.integers(2, 12))
def test_the_mean_of_a_set_symmetric_about_an_axis_is_the_axis(seed, dim):
    rng = np.random.default_rng(seed)
    axis = unit(rng.normal(size=dim))
    across = rng.normal(size=(4, dim))
    across -= (across @ axis)[:, None] * axis
    across *= 0.4 / np.linalg.norm(across, axis=1, keepdims=True)
    points = exp_map(axis, np.concatenate([across, -across]))
    np.testing.assert_allclose(frechet_mean(points), axis, atol=1e-7)


def test_the_mean_of_three_points_of_a_circle_has_the_mean_angle_not_that_of_the_mean_vector():
    angles = np.array([0.0, 0.1, 1.4])
    mean = frechet_mean(np.column_stack([np.cos(angles), np.sin(angles)]))
    assert math.atan2(mean[1], mean[0]) == pytest.approx(0.5, abs=1e-7)
    assert math.atan2(np.sin(angles).mean(), np.cos(angles).mean()) != pytest.approx(0.5, abs=1e-3)


@settings(deadline=None, max_examples=20)
@given(seed=seeds, dim=st.integers(3, 10))
def test_at_the_mean_logarithms_cancel_and_no_point_near_it_is_better(seed, dim):
    rng = np.random.default_rng(seed)
    points = unit(rng.normal(size=(9, dim)) * 0.5 + np.eye(dim)[0] * 2)
    mean = frechet_mean(points)
    np.testing.assert_allclose(log_map(mean, points).mean(axis=0), 0, atol=1e-6)
    squares = (np.arccos(points @ mean) ** 2).sum()
    for other in exp_map(mean, rng.normal(size=(10, dim)) * 0.01):
        assert (np.arccos(points @ other) ** 2).sum() > squares


def test_one_point_is_its_own_mean_whatever_its_length():
    np.testing.assert_allclose(frechet_mean([[0.0, 3.0, 4.0]]), [0, 0.6, 0.8])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: frechet_mean([[1.0, 0.0], [-1.0, 0.0]]), "cancel each other"),
        (lambda: frechet_mean(np.empty((0, 3))), "no points"),
        (lambda: frechet_mean([[0.0, 0.0]]), "no direction"),
        (lambda: frechet_mean([[1.0, np.nan]]), "not finite"),
        (lambda: frechet_mean([[1.0, 0.0]], tolerance=0.0), "tolerance must be positive"),
        (lambda: frechet_mean([[1.0, 0.0], [0.0, 1.0], [0.5, 1.0]], steps=1), "not settled in 1 steps"),
        (lambda: log_map([1.0, 0.0], [[0.0, 1.0], [-1.0, 0.0]]), "the point at 1 is opposite"),
        (lambda: log_map([1.0, 0.0], [[1.0, 0.0, 0.0]]), "dimension 3 where 2 is needed"),
        (lambda: exp_map([0.0, 0.0], [[1.0, 0.0]]), "no direction"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
