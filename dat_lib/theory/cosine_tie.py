"""Proposition 1: cosine with the mean axis of a Kent distribution ties points that its density tells apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dat_lib.arrays import FloatArray
from dat_lib.theory.kent import Kent, random_axes
from dat_lib.theory.registry import Check

Construction: TypeAlias = Literal["as printed", "full radius", "fourth axis"]

ROUNDING = 1e-9


@dataclass(frozen=True)
class CosineTie:
    """One pair z+, z- of Proposition 1 and what it shows."""

    construction: Construction
    dim: int
    kappa: float
    beta: float
    t: float
    """The cosine both are meant to have."""
    r: float
    norm: float
    """Length of both; they are points of the sphere only where it is 1."""
    on_sphere: bool
    cosine_difference: float
    log_density_difference: float
    """log p(z+) - log p(z-), of the exponents where the points are off the sphere."""
    predicted: float
    """2 beta r^2"""
    holds: bool
    """On the sphere, cosines equal, densities different and by as much as predicted."""


def cosine_ties(
    *,
    dims: Sequence[int] = (3, 16, 64),
    betas: Sequence[float] = (-5.0, 0.0, 5.0),
    cosines: Sequence[float] = (-0.5, 0.0, 0.5, 0.9),
    kappa: float = 20.0,
    seed: int = 0,
) -> list[CosineTie]:
    """Build z+ and z- of Proposition 1 in three ways, for w = g1.

    Both have <g1, z> = t; z+ has <g2, z> = r and z- has <g3, z> = r. Then cosines tie and
    log p(z+) - log p(z-) = 2 beta r^2.

    - "as printed": r strictly between 0 and sqrt(1 - t^2) (here half of it), all other coordinates 0. The points
      have length sqrt(t^2 + r^2) < 1, so they are not on the sphere, and the proof does not stand as printed.
    - "full radius": r = sqrt(1 - t^2), the one value for which they are.
    - "fourth axis": r as printed and the rest of the length along an axis of no other role, which needs d >= 4.

    With beta = 0 there is nothing to tell apart, and none holds.
    """
    rows = []
    for dim in dims:
        axes = random_axes(np.random.default_rng([seed, dim]), dim)
        fourth = _across(np.random.default_rng([seed, dim, 1]), axes) if dim > 3 else None
        for beta in betas:
            group = Kent(kappa, beta, axes)
            for t in cosines:
                if not -1 < t < 1:
                    raise ValueError(f"cosines must lie in (-1, 1), not {t}")
                whole = math.sqrt(1 - t**2)
                rows.append(_tie(group, "as printed", t, whole / 2, np.zeros(dim)))
                rows.append(_tie(group, "full radius", t, whole, np.zeros(dim)))
                if fourth is not None:
                    rows.append(_tie(group, "fourth axis", t, whole / 2, math.sqrt(0.75) * whole * fourth))
    return rows


def _tie(group: Kent, construction: Construction, t: float, r: float, rest: FloatArray) -> CosineTie:
    first, second, third = group.axes
    pair = np.stack([t * first + r * second + rest, t * first + r * third + rest])
    norm = float(np.sqrt((pair**2).sum(axis=1)).mean())
    cosines = group.coordinates(pair)[:, 0]
    exponents = group.exponent(pair)
    predicted = 2 * group.beta * r**2
    found = float(exponents[0] - exponents[1])
    on_sphere = abs(norm - 1) < ROUNDING
    tied = abs(cosines[0] - cosines[1]) < ROUNDING
    return CosineTie(
        construction=construction,
        dim=group.dim,
        kappa=group.kappa,
        beta=group.beta,
        t=t,
        r=r,
        norm=norm,
        on_sphere=bool(on_sphere),
        cosine_difference=float(cosines[0] - cosines[1]),
        log_density_difference=found,
        predicted=predicted,
        holds=bool(on_sphere and tied and abs(found - predicted) < ROUNDING * (1 + group.kappa) and abs(found) > 1e-6),
    )


@dataclass(frozen=True)
class CosineRanking:
    """How often cosine and density rank two samples of one group differently."""

    dim: int
    kappa: float
    beta: float
    samples: int
    discordant: float
    """Share of pairs of samples whose cosines with g1 and densities are in opposite order."""
    log_density_variance_missed: float
    """Share of the variance of log p that is left once it is regressed on the cosine."""


def cosine_rankings(
    *,
    dims: Sequence[int] = (3, 16, 64),
    ellipticities: Sequence[float] = (0.0, 0.3, 0.6, 0.9),
    spread: float = 0.6,
    samples: int = 1000,
    seed: int = 0,
) -> list[CosineRanking]:
    """What Proposition 1 amounts to on samples: kappa = (d - 1) / spread^2, beta = ellipticity kappa / 2."""
    if samples < 3:
        raise ValueError(f"a ranking needs 3 samples or more, not {samples}")
    rows = []
    for dim in dims:
        for ellipticity in ellipticities:
            kappa = (dim - 1) / spread**2
            rng = np.random.default_rng([seed, dim])
            group = Kent(kappa, ellipticity * kappa / 2, random_axes(rng, dim))
            points = group.sample(rng, samples)
            cosine, log_density = group.coordinates(points)[:, 0], group.log_density(points)
            # With beta = 0 both rank alike, but for rounding of cosines that are almost equal.
            order = np.subtract.outer(cosine, cosine) * np.subtract.outer(log_density, log_density)
            pairs = samples * (samples - 1)
            rows.append(
                CosineRanking(
                    dim=dim,
                    kappa=kappa,
                    beta=group.beta,
                    samples=samples,
                    discordant=float((order < -1e-15).sum() / pairs),
                    log_density_variance_missed=float(1 - np.corrcoef(cosine, log_density)[0, 1] ** 2),
                )
            )
    return rows


def _across(rng: np.random.Generator, axes: FloatArray) -> FloatArray:
    """A unit vector [d] orthogonal to the axes."""
    across: FloatArray = rng.normal(size=axes.shape[1:])
    for _ in range(2):
        along = np.einsum("ij,j->i", axes, across)
        across = across - np.einsum("i,ij->j", along, axes)
        across = np.divide(across, np.sqrt((across**2).sum()))
    return across


CHECKS = (
    Check("cosine_ties", cosine_ties, ("on_sphere", "holds")),
    Check("cosine_rankings", cosine_rankings),
)
