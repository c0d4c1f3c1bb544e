"""The Kent (Fisher-Bingham) distribution on the sphere in any dimension: density, constant, exact samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, as_vectors

LARGEST_PARAMETER = 20_000.0
"""Largest concentration and ellipticity whose constant is summed: the series has about as many terms."""
ORTHONORMAL = 1e-8
SMALLEST_COSINE = 1e-6
PROPOSALS = 4096
"""Fewest proposals drawn at a time."""


@dataclass(frozen=True)
class Kent:
    """p(z) = c_d(kappa, beta) exp(kappa <g1, z> + beta (<g2, z>^2 - <g3, z>^2)) on the unit sphere of R^d, d >= 3.

    Density with respect to the surface measure. beta = 0 is von Mises-Fisher, kappa = beta = 0 uniform; beta < 0
    exchanges the long and the short axis. Past 2 |beta| = kappa it has two modes.

    The paper prints log p = ... - log c_d beside p = c_d exp(...); the sign of log c_d must be +, as here.
    """

    kappa: float
    beta: float
    axes: FloatArray
    """[3, d] orthonormal g1 (mean), g2 (long axis), g3 (short axis). The density is alike in all others."""

    def __post_init__(self) -> None:
        axes = as_vectors(self.axes, "axes").astype(np.float64)
        if axes.shape[0] != 3 or axes.shape[1] < 3:
            raise ValueError(f"axes must be 3 vectors of dimension 3 or more, not of the shape {axes.shape}")
        if np.abs(_products(axes, axes) - np.eye(3)).max() > ORTHONORMAL:
            raise ValueError("axes must be orthonormal")
        if not 0 <= self.kappa <= LARGEST_PARAMETER:
            raise ValueError(f"kappa must lie in [0, {LARGEST_PARAMETER:g}], not {self.kappa}")
        if not abs(self.beta) <= LARGEST_PARAMETER:
            raise ValueError(f"beta must lie in [-{LARGEST_PARAMETER:g}, {LARGEST_PARAMETER:g}], not {self.beta}")
        object.__setattr__(self, "axes", axes)

    @property
    def dim(self) -> int:
        """d."""
        return int(self.axes.shape[1])

    @cached_property
    def log_constant(self) -> float:
        """log c_d(kappa, beta)."""
        return log_constant(self.dim, self.kappa, self.beta)

    def coordinates(self, points: npt.ArrayLike) -> FloatArray:
        """<g1, z>, <g2, z>, <g3, z> of points [N, d]: [N, 3]."""
        return _products(as_vectors(points, "points", dim=self.dim).astype(np.float64), self.axes)

    def log_density(self, points: npt.ArrayLike) -> FloatArray:
        """log p of points [N, d], which must be of unit length: [N]."""
        points = as_vectors(points, "points", dim=self.dim).astype(np.float64)
        length = np.sqrt(np.einsum("ij,ij->i", points, points))
        if np.abs(length - 1).max(initial=0) > 1e-5:
            raise ValueError("points must be of unit length")
        return self.exponent(points) + self.log_constant

    def exponent(self, points: npt.ArrayLike) -> FloatArray:
        """log p without its constant, of any points [N, d] of the space: [N]."""
        first, second, third = self.coordinates(points).T
        exponent: FloatArray = self.kappa * first + self.beta * (second**2 - third**2)
        return exponent

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Exact samples [count, d], float64, of unit length."""
        return self.sample_counting(rng, count)[0]

    def sample_counting(self, rng: np.random.Generator, count: int) -> tuple[FloatArray, float]:
        """Samples [count, d] and the share of proposals that were accepted.

        Rejection in two steps (Kent, Ganeiber and Mardia 2018). For any t > 0 (least is wasted where t is the mean
        of x1), kappa x1 is at most kappa (x1^2 + t^2) / (2 t), which makes the exponent quadratic (Bingham), and a
        Bingham density lies below a multiple of an angular central Gaussian one. Whether a proposal is accepted
        depends on its coordinates along the three axes alone, so the others are drawn for accepted ones only.
        """
        if count < 0:
            raise ValueError(f"count must not be negative, not {count}")
        dim, kappa = self.dim, self.kappa
        touch = max(mean_cosine(dim, kappa, self.beta), SMALLEST_COSINE)
        pull = kappa / (2 * touch)
        quadratic = np.array([-pull, -self.beta, self.beta])
        lowest = min(quadratic.min(), 0.0 if dim > 3 else math.inf)
        quadratic, rest = quadratic - lowest, -lowest
        width = _envelope_width(quadratic, rest, dim)
        ceiling = -(dim - width) / 2 + dim / 2 * math.log(dim / width)
        found: list[FloatArray] = []
        have = proposed = 0
        while have < count:
            batch = max(PROPOSALS, count - have)
            normal = rng.normal(size=(batch, 3)) / np.sqrt(1 + 2 * quadratic / width)
            remaining = rng.chisquare(dim - 3, batch) / (1 + 2 * rest / width) if dim > 3 else np.zeros(batch)
            squares = (normal**2).sum(axis=1) + remaining
            along = normal / np.sqrt(squares)[:, None]
            energy = np.einsum("ij,j->i", along**2, quadratic) + rest * remaining / squares
            log_accept = -energy + dim / 2 * np.log1p(2 * energy / width) - ceiling
            log_accept -= pull * (along[:, 0] - touch) ** 2
            kept = along[np.log(rng.random(batch)) < log_accept]
            found.append(kept)
            have += len(kept)
            proposed += batch
        coordinates = np.concatenate([np.empty((0, 3)), *found])[:count]
        return self._place(rng, coordinates), have / proposed if proposed else 1.0

    def _place(self, rng: np.random.Generator, coordinates: FloatArray) -> FloatArray:
        """Points [N, d] with given coordinates along the axes and an even direction across them."""
        points: FloatArray = np.einsum("ij,jk->ik", coordinates, self.axes)
        if self.dim > 3:
            across = rng.normal(size=points.shape)
            # Twice, so that what rounding leaves along the axes goes as well.
            for _ in range(2):
                across -= np.einsum("ij,jk->ik", _products(across, self.axes), self.axes)
                across /= np.sqrt(np.einsum("ij,ij->i", across, across))[:, None]
            points += np.sqrt(np.maximum(0, 1 - (coordinates**2).sum(axis=1)))[:, None] * across
        points /= np.sqrt(np.einsum("ij,ij->i", points, points))[:, None]
        return points


def log_constant(dim: int, kappa: float, beta: float) -> float:
    """log c_d(kappa, beta), the logarithm of one over the integral of the exponential over the sphere.

    The integral is 2 pi^(d/2) times the sum over j, m >= 0 of
    binom(2j, j) (beta/2)^(2j) (kappa/2)^(2m) / (m! Gamma(d/2 + 2j + m)): Kent's series of Bessel functions for
    d = 3, with the Bessel functions written out, so that it also serves d > 3 and kappa = 0. All terms are positive.
    """
    return _series(dim, kappa, beta)[0]


def mean_cosine(dim: int, kappa: float, beta: float) -> float:
    """E<g1, z>, minus the derivative of log c_d by kappa."""
    return _series(dim, kappa, beta)[1]


@lru_cache(maxsize=1024)
def _series(dim: int, kappa: float, beta: float) -> tuple[float, float]:
    """log c_d and the mean cosine, 2 / kappa times the mean of m over the terms of the series."""
    from scipy.special import gammaln, xlogy

    m = np.arange(_terms(kappa))
    powers = xlogy(2 * m, kappa / 2) - gammaln(m + 1)
    total, of_m = -math.inf, 0.0
    for j in range(_terms(beta) if beta else 1):
        terms = powers - gammaln(dim / 2 + 2 * j + m)
        terms += gammaln(2 * j + 1) - 2 * gammaln(j + 1) + xlogy(2 * j, abs(beta) / 2)
        top = float(terms.max())
        shares = np.exp(terms - top)
        of_j = top + math.log(float(shares.sum()))
        before, total = total, float(np.logaddexp(total, of_j))
        of_m = of_m * math.exp(before - total) + float((shares * m).sum()) * math.exp(top - total)
        # Past their peak the terms fall faster than geometrically.
        if j > abs(beta) and of_j < total - 45:
            break
    log_constant = -(math.log(2) + dim / 2 * math.log(math.pi) + total)
    return log_constant, 2 * of_m / kappa if kappa else 0.0


def random_axes(rng: np.random.Generator, dim: int, mean: npt.ArrayLike | None = None) -> FloatArray:
    """Three orthonormal vectors [3, d] of even direction; the first is that of `mean` [d] where it is given."""
    if dim < 3:
        raise ValueError(f"three axes need dimension 3 or more, not {dim}")
    axes = rng.normal(size=(3, dim))
    if mean is not None:
        axes[0] = as_vectors(mean, "mean", ndim=1, dim=dim)
    for i in range(3):
        for _ in range(2):
            axes[i] -= np.einsum("i,ij->j", _products(axes[i : i + 1], axes[:i])[0], axes[:i])
        length = math.sqrt(float((axes[i] ** 2).sum()))
        if length == 0:
            raise ValueError("mean is zero, so it has no direction")
        axes[i] /= length
    return axes


def _terms(parameter: float) -> int:
    """Terms of a series of x^(2m) / (m!)^2 kind, whose largest lies below m = x / 2."""
    return math.ceil(abs(parameter)) + 60


def _envelope_width(quadratic: FloatArray, rest: float, dim: int) -> float:
    """The b with sum_i 1 / (b + 2 lambda_i) = 1: the angular central Gaussian that wastes least."""
    from scipy.optimize import brentq

    def excess(width: float) -> float:
        return float((1 / (width + 2 * quadratic)).sum() + (dim - 3) / (width + 2 * rest) - 1)

    return float(brentq(excess, 1e-12, dim + 1.0)) if quadratic.any() or rest else float(dim)


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Inner products [N, M] of rows, summed in one order whatever the number of threads."""
    products: FloatArray = np.einsum("ij,kj->ik", left, right)
    return products
