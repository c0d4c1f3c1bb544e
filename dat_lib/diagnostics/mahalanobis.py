"""Figure 1b: how far prompts lie from groups of images, in units of each group's own spread (TMD)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import NO_ATTRIBUTE, FloatArray, IntArray, as_indices, as_vectors
from dat_lib.diagnostics.sphere import frechet_mean, log_map

Shrinkage: TypeAlias = Literal["ledoit_wolf", "oas"]

RANK = 1e-10
"""Variances below this share of the largest are rounding."""


@dataclass(frozen=True)
class TangentSpread:
    """A group in the tangent space of its Frechet mean: (1 - alpha) Sigma + alpha tr(Sigma) / (d - 1) I.

    Sigma = (1/N) sum of delta delta^T is singular along the mean and, with N < d, across most of the rest; its plain
    inverse, which the paper writes, is undefined. Axes and variances are those of Sigma where it is not 0.
    """

    mean: FloatArray
    """[d] the Frechet mean."""
    axes: FloatArray
    """[r, d] orthonormal, in the tangent space."""
    variances: FloatArray
    """[r], from the largest."""
    level: float
    """tr(Sigma) / (d - 1)"""
    shrinkage: float
    """alpha"""
    size: int
    """N"""

    def distances(self, points: npt.ArrayLike) -> TangentDistances:
        """Distances of points [P, d] from the group."""
        tangents = log_map(self.mean, points)
        along: FloatArray = np.einsum("ij,kj->ik", tangents, self.axes) ** 2
        squares: FloatArray = np.einsum("ij,ij->i", tangents, tangents)
        outside = np.maximum(0, squares - along.sum(axis=1))
        floor = self.shrinkage * self.level
        shrunk = (along / ((1 - self.shrinkage) * self.variances + floor)).sum(axis=1)
        if floor > 0:
            shrunk = shrunk + outside / floor
        elif len(self.axes) < len(self.mean) - 1:
            shrunk = np.where(outside > RANK * squares, np.inf, shrunk)
        return TangentDistances(
            shrunk=np.sqrt(shrunk),
            pseudo_inverse=np.sqrt((along / self.variances).sum(axis=1)),
            angle=np.sqrt(squares),
            outside=np.divide(outside, squares, out=np.zeros_like(squares), where=squares > 0),
        )


@dataclass(frozen=True)
class TangentDistances:
    """Distances of P points from one group."""

    shrunk: FloatArray
    """[P] by the shrunk covariance: the TMD."""
    pseudo_inverse: FloatArray
    """[P] by the pseudo-inverse, which leaves out what lies outside the span of the group's samples."""
    angle: FloatArray
    """[P] radians to the Frechet mean."""
    outside: FloatArray
    """[P] share of the squared angle that lies outside that span."""


@dataclass(frozen=True)
class PromptDistances:
    """One row per prompt, group and repeat."""

    prompt: IntArray
    """Row of the prompts."""
    label: IntArray
    attribute: IntArray
    repeat: IntArray
    size: IntArray
    """Samples of the group that were used."""
    available: IntArray
    """Samples it has."""
    shrinkage: FloatArray
    distance: FloatArray
    """TMD with the shrunk covariance."""
    distance_pseudo_inverse: FloatArray
    angle: FloatArray
    """Radians between prompt and Frechet mean."""
    outside: FloatArray
    """Share of the prompt's squared angle outside the span of the samples: with a modality gap, most of it."""


def tangent_spread(points: npt.ArrayLike, *, shrinkage: Shrinkage | float = "ledoit_wolf") -> TangentSpread:
    """Frechet mean and covariance of points [N, d], N >= 2, not all equal; `shrinkage` may be a share in [0, 1].

    Ledoit-Wolf and OAS are those of scikit-learn with `assume_centered`, in the d - 1 dimensions of the tangent space.
    """
    points = as_vectors(points, "points")
    size, dim = points.shape
    if size < 2:
        raise ValueError(f"a spread needs 2 points or more, not {size}")
    if dim < 2:
        raise ValueError("a sphere of dimension 0 has no tangent space")
    mean = frechet_mean(points)
    tangents = log_map(mean, points)
    # All that is needed is in the products of the N tangent vectors, however large d is.
    products = np.einsum("ij,kj->ik", tangents, tangents) / size
    values, vectors = np.linalg.eigh(products)
    kept = values > RANK * values[-1]
    if values[-1] <= 0 or not kept.any() or values[-1] < 1e-20:
        raise ValueError("the points are all equal, so they have no spread")
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    axes = np.einsum("ji,jk->ik", vectors, tangents) / np.sqrt(size * values)[:, None]
    level = float(np.trace(products)) / (dim - 1)
    return TangentSpread(mean, axes, values, level, _share(shrinkage, products, dim - 1), size)


def prompt_distances(
    embeddings: npt.ArrayLike,
    labels: npt.ArrayLike,
    attributes: npt.ArrayLike,
    prompts: npt.ArrayLike,
    *,
    size: int | None = None,
    repeats: int = 1,
    shrinkage: Shrinkage | float = "ledoit_wolf",
    seed: int = 0,
) -> PromptDistances:
    """Tangent-space Mahalanobis distances of prompts [P, d] to every group of embeddings [N, d].

    Every group is represented by the same number of samples, since shrinkage makes small groups look different.
    Figure 1b measures one prompt ("a photo of a waterbird") against all groups; the formula writes one per group.

    Parameters
    ----------
    size
        Samples per group, by default as many as the smallest has; groups with fewer are refused.
    repeats
        How many times samples are drawn (without replacement, by seed, group and repeat).
    """
    embeddings = as_vectors(embeddings, "embeddings")
    prompts = as_vectors(prompts, "prompts", dim=embeddings.shape[1])
    labels = as_indices(labels, "labels", length=len(embeddings))
    attributes = as_indices(attributes, "attributes", length=len(embeddings), allowed=(NO_ATTRIBUTE,))
    if repeats < 1:
        raise ValueError(f"repeats must be 1 or more, not {repeats}")
    pairs = zip(labels.tolist(), attributes.tolist(), strict=True)
    groups = sorted({(y, a) for y, a in pairs if a != NO_ATTRIBUTE})
    if not groups or not len(prompts):
        raise ValueError("there are no groups or no prompts to measure")
    members = {(y, a): np.flatnonzero((labels == y) & (attributes == a)) for y, a in groups}
    smallest = min(members, key=lambda group: len(members[group]))
    size = len(members[smallest]) if size is None else size
    if not 2 <= size <= len(members[smallest]):
        raise ValueError(f"size={size} samples per group cannot be had: group {smallest} has {len(members[smallest])}")
    parts = []
    for (y, a), rows in members.items():
        for repeat in range(repeats):
            chosen = np.random.default_rng([seed, y, a, repeat]).choice(rows, size, replace=False)
            spread = tangent_spread(embeddings[np.sort(chosen)], shrinkage=shrinkage)
            found = spread.distances(prompts)
            fixed = [np.full(len(prompts), value) for value in (y, a, repeat, size, len(rows), spread.shrinkage)]
            parts.append(
                [np.arange(len(prompts)), *fixed, found.shrunk, found.pseudo_inverse, found.angle, found.outside]
            )
    return PromptDistances(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _share(shrinkage: Shrinkage | float, products: FloatArray, dim: int) -> float:
    """alpha, from products [N, N] of the samples divided by N: Sigma has their trace and their sum of squares."""
    if not isinstance(shrinkage, str):
        if not 0 <= shrinkage <= 1:
            raise ValueError(f"shrinkage must lie in [0, 1], not {shrinkage}")
        return float(shrinkage)
    size = len(products)
    squares, level = float((products**2).sum()), float(np.trace(products)) / dim
    off = squares - dim * level**2
    if shrinkage == "ledoit_wolf":
        fourth = float((np.diag(products) ** 2).sum())
        noise = fourth - squares / size
        return min(1.0, max(0.0, noise / off)) if off > 0 else 1.0
    if shrinkage == "oas":
        mean_square = squares / dim**2
        lower = (size + 1) * (mean_square - level**2 / dim)
        return min(1.0, (mean_square + level**2) / lower) if lower > 0 else 1.0
    raise ValueError(f"shrinkage must be one of {', '.join(get_args(Shrinkage))} or a share, not {shrinkage!r}")
