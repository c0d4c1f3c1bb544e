"""Geometry of the unit sphere: logarithm and exponential maps, and the Frechet mean."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, as_vectors, normalise

ANTIPODE = 1e-7
"""Points this close (radians) to the antipode have no direction back."""


def log_map(base: npt.ArrayLike, points: npt.ArrayLike) -> FloatArray:
    """Tangent vectors [N, d] at base [d] that lead to points [N, d] along great circles, as long as the angle.

    theta / sin(theta) (x - cos(theta) base), theta the angle; 0 at the base itself. Both are normalised first. The
    antipode of the base has no one direction and is refused.
    """
    base = _one(base, "base")
    points = normalise(as_vectors(points, "points", dim=len(base)).astype(np.float64), "points")
    across = points - base
    # Off the base by differences: 1 - cos loses half the digits near it, x - cos(theta) base all of them.
    cosine = 1 - np.einsum("ij,ij->i", across, across) / 2
    across = across - np.einsum("ij,j->i", across, base)[:, None] * base
    sine = np.sqrt(np.einsum("ij,ij->i", across, across))
    angle = np.arctan2(sine, cosine)
    opposite = angle > np.pi - ANTIPODE
    if opposite.any():
        raise ValueError(
            f"the point at {int(np.flatnonzero(opposite)[0])} is opposite the base: no one way leads there"
        )
    scale = np.divide(angle, sine, out=np.ones_like(angle), where=sine > 0)
    tangent: FloatArray = scale[:, None] * across
    return tangent


def exp_map(base: npt.ArrayLike, tangents: npt.ArrayLike) -> FloatArray:
    """Points [N, d] of the sphere reached from base [d] along tangent vectors [N, d]; the inverse of `log_map`.

    What a vector has along the base is no part of it and is left out.
    """
    base = _one(base, "base")
    given = as_vectors(tangents, "tangents", dim=len(base)).astype(np.float64)
    across = given - np.einsum("ij,j->i", given, base)[:, None] * base
    angle = np.sqrt(np.einsum("ij,ij->i", across, across))[:, None]
    points: FloatArray = np.cos(angle) * base + np.sinc(angle / np.pi) * across
    return points


def frechet_mean(points: npt.ArrayLike, *, tolerance: float = 1e-7, steps: int = 1000) -> FloatArray:
    """The point [d] of the sphere with the least sum of squared angles to points [N, d], which are normalised first.

    From the normalised mean, mean <- Exp(mean of Log(points)) until a step is shorter than `tolerance`. Points that
    lie in no half of the sphere may have several such means; where their plain mean is 0 there is no start, and
    they are refused.
    """
    points = normalise(as_vectors(points, "points").astype(np.float64), "points")
    if not len(points):
        raise ValueError("there are no points to take the mean of")
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive, not {tolerance}")
    start = points.mean(axis=0)
    if np.sqrt((start**2).sum()) < 1e-12:
        raise ValueError("the points cancel each other, so they have no mean direction")
    mean = _one(start, "mean")
    for _ in range(steps):
        step = log_map(mean, points).mean(axis=0)
        mean = _one(exp_map(mean, step[None])[0], "mean")
        if np.sqrt((step**2).sum()) < tolerance:
            return mean
    raise ValueError(f"the mean has not settled in {steps} steps")


def _one(vector: npt.ArrayLike, name: str) -> FloatArray:
    return normalise(as_vectors(vector, name, ndim=1).astype(np.float64), name)
