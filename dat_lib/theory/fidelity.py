"""Assumption 1: is the logarithm of SLOF a straight line in the logarithm of the group's density?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dat_lib.arrays import BoolArray, FloatArray, IntArray
from dat_lib.choices import Density
from dat_lib.theory.groups import kent_groups, sparsity
from dat_lib.theory.registry import Check

Queries: TypeAlias = Literal["own", "other", "all"]
"""Whose samples are measured in a group's references: its own, those of other groups, or all."""


@dataclass(frozen=True)
class Line:
    """log D = slope (-log p) + intercept + error, fitted by least squares."""

    slope: float
    """alpha"""
    slope_error: float
    """Its standard error, of queries taken as independent given the references."""
    intercept: float
    """eta"""
    residual_bound: float
    """c, the largest |error| seen."""
    residual_deviation: float
    """Root mean square error."""
    r2: float


@dataclass(frozen=True)
class Fidelity:
    """The fit of Assumption 1 in one setting."""

    density: Density
    queries: Queries
    dim: int
    n: int
    k: int
    points: int
    """Pairs of query and group."""
    slope: float
    slope_error: float
    intercept: float
    residual_bound: float
    residual_deviation: float
    r2: float
    local_slope: float
    """1 / (d - 1): the slope of log k-NN distance where the density is even over the neighbourhood."""
    signal: float
    """slope times the standard deviation of log p: what the line explains, in units of log D."""
    bound_over_signal: float
    """residual_bound / |signal|; above 1 the "bounded error" is larger than what it is an error of."""
    increasing: bool
    """Whether the slope is above 0 by three standard errors, as alpha > 0 asks."""


def fit_line(log_sparsity: FloatArray, log_density: FloatArray) -> Line:
    """Regress log D [N] on -log p [N]."""
    log_sparsity, log_density = (np.asarray(a, dtype=np.float64) for a in (log_sparsity, log_density))
    if log_sparsity.shape != log_density.shape or log_sparsity.ndim != 1:
        raise ValueError(
            f"log_sparsity and log_density must be vectors of one length, not {log_sparsity.shape} and "
            f"{log_density.shape}"
        )
    if len(log_sparsity) < 3:
        raise ValueError(f"a line with an error needs 3 points or more, not {len(log_sparsity)}")
    if not (np.isfinite(log_sparsity).all() and np.isfinite(log_density).all()):
        raise ValueError("log_sparsity and log_density must be finite")
    x = -(log_density - log_density.mean())
    y = log_sparsity - log_sparsity.mean()
    spread = float((x**2).sum())
    if spread == 0:
        raise ValueError("log_density is the same everywhere, so no slope can be fitted")
    slope = float((x * y).sum() / spread)
    residual = y - slope * x
    squares = float((residual**2).sum())
    total = float((y**2).sum())
    return Line(
        slope=slope,
        slope_error=float(np.sqrt(squares / (len(x) - 2) / spread)),
        intercept=float(log_sparsity.mean() + slope * log_density.mean()),
        residual_bound=float(np.abs(residual).max()),
        residual_deviation=float(np.sqrt(squares / len(x))),
        r2=1 - squares / total if total else 1.0,
    )


def log_slof_fidelity(
    *,
    dims: Sequence[int] = (6, 16, 64),
    ns: Sequence[int] = (56, 200, 1000),
    ks: Sequence[int] = (10, 30),
    densities: Sequence[Density] = ("slof", "knn"),
    each: int = 250,
    spread: float = 0.6,
    ellipticity: float = 0.6,
    seed: int = 0,
) -> list[Fidelity]:
    """Fit log D_g(z) = alpha (-log p_g(z)) + eta + error over four Kent groups, for each dimension, n and k < n.

    alpha and eta are common to all groups, as the assumption has them. The k-NN distance stands beside SLOF because
    the references the paper gives are about it: for even density it has log D = -log p / (d - 1) + constant. SLOF
    divides it by the same quantity of its neighbours, which have nearly the density of the query once neighbourhoods
    are small: the more references, the flatter the line. Samples of other groups lie far out, where it is steepest.

    Parameters
    ----------
    each
        Queries per group.
    """
    rows = []
    for dim in dims:
        world = kent_groups(seed, dim=dim, spread=spread, ellipticity=ellipticity)
        points, of = world.queries(each)
        log_density = world.log_densities(points)
        own = of[:, None] == np.arange(len(world.groups))
        for n in ns:
            references = world.references(n)
            for k in ks:
                if k >= n:
                    continue
                for density in densities:
                    log_sparsity = sparsity(references, points, k, density)
                    for queries, chosen in _choices(own).items():
                        line = fit_line(log_sparsity[chosen], log_density[chosen])
                        rows.append(_fidelity(density, queries, dim, n, k, line, log_density[chosen]))
    return rows


@dataclass(frozen=True)
class FidelityPoints:
    """The points behind one fit, to be drawn."""

    group: IntArray
    """[P] the group whose references measure."""
    query_group: IntArray
    """[P] the group the query is a sample of."""
    log_density: FloatArray
    """[P] log p"""
    log_sparsity: FloatArray
    """[P] log D"""


def fidelity_points(
    *,
    dim: int = 16,
    n: int = 56,
    k: int = 10,
    density: Density = "slof",
    each: int = 250,
    spread: float = 0.6,
    ellipticity: float = 0.6,
    seed: int = 0,
) -> FidelityPoints:
    """Every pair of query and group of one setting of `log_slof_fidelity`."""
    world = kent_groups(seed, dim=dim, spread=spread, ellipticity=ellipticity)
    points, of = world.queries(each)
    log_sparsity = sparsity(world.references(n), points, k, density)
    groups = len(world.groups)
    return FidelityPoints(
        group=np.tile(np.arange(groups), len(points)),
        query_group=np.repeat(of, groups),
        log_density=world.log_densities(points).ravel(),
        log_sparsity=log_sparsity.ravel(),
    )


def _choices(own: BoolArray) -> dict[Queries, BoolArray]:
    return {"own": own, "other": ~own, "all": np.ones_like(own)}


def _fidelity(
    density: Density, queries: Queries, dim: int, n: int, k: int, line: Line, log_density: FloatArray
) -> Fidelity:
    signal = line.slope * float(log_density.std())
    return Fidelity(
        density=density,
        queries=queries,
        dim=dim,
        n=n,
        k=k,
        points=len(log_density),
        slope=line.slope,
        slope_error=line.slope_error,
        intercept=line.intercept,
        residual_bound=line.residual_bound,
        residual_deviation=line.residual_deviation,
        r2=line.r2,
        local_slope=1 / (dim - 1),
        signal=signal,
        bound_over_signal=line.residual_bound / abs(signal) if signal else np.inf,
        increasing=line.slope > 3 * line.slope_error,
    )


CHECKS = (
    Check("fidelity", log_slof_fidelity, ("increasing",)),
    Check("fidelity_points", fidelity_points),
)
