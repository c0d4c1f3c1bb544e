import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.special import ive

from dat_lib.theory.kent import Kent, log_constant, random_axes

SETTINGS = [(3, 10.0, 4.0), (3, 0.0, 0.0), (4, 0.0, 3.0), (8, 20.0, 8.0), (8, 5.0, -6.0), (64, 180.0, 70.0)]


def kent(dim, kappa, beta, seed=0):
    return Kent(kappa, beta, random_axes(np.random.default_rng(seed), dim))


def moments(dim, kappa, beta):
    """E<g1, z> and E[<g2, z>^2 - <g3, z>^2], summed over cosine, share of the rest in the plane, and angle in it."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    cosine, share, angle = np.meshgrid(nodes, (nodes + 1) / 2, (nodes + 1) / 2 * math.pi, indexing="ij")
    rest = 1 - cosine**2
    term = rest * share * np.cos(2 * angle)
    mass = np.einsum("i,j,k->ijk", weights, weights, weights) * rest ** ((dim - 3) / 2) * (1 - share) ** ((dim - 5) / 2)
    mass *= np.exp(kappa * cosine + beta * term)
    return (cosine * mass).sum() / mass.sum(), (term * mass).sum() / mass.sum()


@pytest.mark.parametrize(("dim", "kappa"), [(3, 2.0), (10, 30.0), (128, 300.0), (512, 1400.0)])
def test_without_ellipticity_the_constant_is_that_of_von_mises_and_fisher(dim, kappa):
    half = dim / 2 - 1
    expected = half * math.log(kappa) - dim / 2 * math.log(2 * math.pi) - math.log(ive(half, kappa)) - kappa
    assert log_constant(dim, kappa, 0.0) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("dim", [3, 4, 17])
def test_the_uniform_constant_is_one_over_the_surface(dim):
    surface = math.log(2) + dim / 2 * math.log(math.pi) - math.lgamma(dim / 2)
    assert log_constant(dim, 0.0, 0.0) == pytest.approx(-surface, rel=1e-12)


@pytest.mark.parametrize(("kappa", "beta"), [(10.0, 4.0), (2.0, 3.0), (0.0, 5.0), (30.0, -14.0)])
def test_on_the_ordinary_sphere_the_constant_makes_the_integral_one(kappa, beta):
    constant = log_constant(3, kappa, beta)

    def density(longitude, cosine):
        rest = 1 - cosine**2
        exponent = kappa * cosine + beta * rest * math.cos(2 * longitude)
        return math.exp(exponent + constant)

    assert dblquad(density, -1, 1, 0, 2 * math.pi)[0] == pytest.approx(1, rel=1e-7)


def test_in_seven_dimensions_the_constant_gives_the_moments_of_the_integral():
    dim, kappa, beta, step = 7, 7.0, 4.0, 1e-4
    of_cosine, of_term = moments(dim, kappa, beta)
    by_kappa = (log_constant(dim, kappa - step, beta) - log_constant(dim, kappa + step, beta)) / (2 * step)
    by_beta = (log_constant(dim, kappa, beta - step) - log_constant(dim, kappa, beta + step)) / (2 * step)
    assert by_kappa == pytest.approx(of_cosine, rel=1e-5)
    assert by_beta == pytest.approx(of_term, rel=1e-5)


@pytest.mark.parametrize(("dim", "kappa", "beta"), SETTINGS)
def test_samples_have_the_moments_that_the_constant_implies(dim, kappa, beta):
    count, step = 40_000, 1e-3
    group = kent(dim, kappa, beta)
    points = group.sample(np.random.default_rng(1), count)
    first, second, third = group.coordinates(points).T
    term = second**2 - third**2
    below = max(kappa - step, 0)
    expected = (log_constant(dim, below, beta) - log_constant(dim, kappa + step, beta)) / (kappa + step - below)
    if kappa == 0:
        expected = 0.0
    assert abs(first.mean() - expected) < 4.5 * first.std() / math.sqrt(count)
    expected = (log_constant(dim, kappa, beta - step) - log_constant(dim, kappa, beta + step)) / (2 * step)
    assert abs(term.mean() - expected) < 4.5 * term.std() / math.sqrt(count)
    for other in (second, third):
        assert abs(other.mean()) < 4.5 * other.std() / math.sqrt(count)


def test_across_the_three_axes_samples_are_even():
    group = kent(7, 12.0, 5.0)
    points = group.sample(np.random.default_rng(3), 40_000)
    across = np.linalg.svd(group.axes)[2][3:]
    second = (points @ across.T).T @ (points @ across.T) / len(points)
    np.testing.assert_allclose(second, np.eye(4) * np.trace(second) / 4, atol=0.03 * np.trace(second))


def test_von_mises_fisher_samples_follow_their_cosine_distribution():
    dim, kappa = 5, 6.0
    points = kent(dim, kappa, 0.0).sample(np.random.default_rng(2), 20_000)
    cosines = np.sort(kent(dim, kappa, 0.0).coordinates(points)[:, 0])
    grid = np.linspace(-1, 1, 20_001)
    density = np.exp(kappa * (grid - 1)) * (1 - grid**2) ** ((dim - 3) / 2)
    cumulative = np.cumsum(density) / density.sum()
    seen = np.searchsorted(cosines, grid) / len(cosines)
    assert np.abs(seen - cumulative).max() < 1.95 / math.sqrt(len(cosines))


@settings(deadline=None, max_examples=40)
@given(
    dim=st.integers(3, 40),
    kappa=st.floats(0, 500),
    share=st.floats(-1.5, 1.5),
    seed=st.integers(0, 1000),
    count=st.integers(0, 50),
)
def test_samples_are_of_unit_length_and_repeatable_for_any_parameters(dim, kappa, share, seed, count):
    group = kent(dim, kappa, share * kappa / 2, seed)
    points, again = (group.sample(np.random.default_rng(seed), count) for _ in range(2))
    assert points.shape == (count, dim)
    np.testing.assert_array_equal(points, again)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, rtol=1e-12)
    assert np.isfinite(group.log_density(points)).all()


def test_log_density_is_the_formula():
    group = kent(5, 9.0, 3.0)
    point = group.sample(np.random.default_rng(0), 1)
    g1, g2, g3 = group.axes
    expected = 9 * (g1 @ point[0]) + 3 * ((g2 @ point[0]) ** 2 - (g3 @ point[0]) ** 2) + log_constant(5, 9.0, 3.0)
    assert group.log_density(point)[0] == pytest.approx(expected)


def test_samples_do_not_depend_on_the_number_of_threads():
    code = (
        "import hashlib, numpy as np\n"
        "from dat_lib.theory.kent import Kent, random_axes\n"
        "rng = np.random.default_rng(0)\n"
        "points = Kent(600.0, 200.0, random_axes(rng, 200)).sample(rng, 3000)\n"
        "print(hashlib.sha256(points.tobytes()).hexdigest())"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "4")
    }
    assert len(prints) == 1


@pytest.mark.parametrize(
    ("kappa", "beta", "axes", "message"),
    [
        (-1.0, 0.0, np.eye(3), "kappa must lie in"),
        (math.nan, 0.0, np.eye(3), "kappa must lie in"),
        (1.0, math.inf, np.eye(3), "beta must lie in"),
        (1.0, 0.0, np.eye(2), "axes must be 3 vectors"),
        (1.0, 0.0, np.ones((3, 4)), "axes must be orthonormal"),
    ],
)
def test_what_is_no_kent_distribution_is_refused(kappa, beta, axes, message):
    with pytest.raises(ValueError, match=message):
        Kent(kappa, beta, axes)


def test_other_bad_input_is_refused():
    group = kent(4, 1.0, 0.0)
    with pytest.raises(ValueError, match="unit length"):
        group.log_density(np.ones((1, 4)))
    with pytest.raises(ValueError, match="count must not be negative"):
        group.sample(np.random.default_rng(0), -1)
    with pytest.raises(ValueError, match="dimension 3 or more"):
        random_axes(np.random.default_rng(0), 2)
    with pytest.raises(ValueError, match="no direction"):
        random_axes(np.random.default_rng(0), 3, np.zeros(3))
