"""The density triptychs: cosine, SLOF and DAT score of a group's images, under its own and a counterpart's terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import NO_ATTRIBUTE, FloatArray, IdArray, IntArray, as_indices
from dat_lib.diagnostics.distributions import overlap
from dat_lib.translation import Similarities, check_translation


@dataclass(frozen=True)
class Triptych:
    """One row per sample and group it is measured against.

    The paper's figures show the samples of one group (`of_group`) against both; those of the counterpart are here too.
    """

    row: IntArray
    """Position among the queries."""
    of_group: npt.NDArray[np.bool_]
    """True for a sample of the group, False for one of the counterpart."""
    against_own: npt.NDArray[np.bool_]
    """True where it is measured against the group it belongs to, False against the other of the two."""
    label: IntArray
    attribute: IntArray
    """The group measured against."""
    cosine: FloatArray
    """s_{y,a}"""
    density: FloatArray
    """D_{y,a}"""
    score: FloatArray
    """s_{y,a} / (D_{y,a} + epsilon) ** strength"""


@dataclass(frozen=True)
class TriptychSummary:
    """One row per quantity and group of samples."""

    quantity: IdArray
    """"cosine", "density" or "score"."""
    of_group: npt.NDArray[np.bool_]
    samples: IntArray
    own_median: FloatArray
    other_median: FloatArray
    right_side: FloatArray
    """Share of samples nearer to their own group: higher cosine or score, lower density than under the other."""
    overlap: FloatArray
    """Of the two distributions, 1 minus the largest difference of their cumulative shares."""


def spurious_counterpart(
    similarity: Similarities, labels: npt.ArrayLike, attributes: npt.ArrayLike, group: tuple[int, int]
) -> tuple[int, int]:
    """The group of another class whose prompt is on average most similar to the images of `group`."""
    chosen = _members(similarity, labels, attributes, group)
    means = similarity.groups[chosen].mean(axis=0, dtype=np.float64)
    if len(means) < 2:
        raise ValueError("with one class only there is no counterpart")
    means[group[0]] = -np.inf
    y, a = np.unravel_index(int(means.argmax()), means.shape)
    return int(y), int(a)


def density_triptych(
    similarity: Similarities,
    log_density: FloatArray,
    labels: npt.ArrayLike,
    attributes: npt.ArrayLike,
    *,
    group: tuple[int, int],
    counterpart: tuple[int, int] | None = None,
    strength: float = 10.0,
    epsilon: float = 1e-8,
) -> Triptych:
    """Measure the samples of two groups, N queries in all, against both.

    The paper says of one figure that images of WL get higher SLOF under their own references than under others,
    which would penalise the true group; `TriptychSummary.right_side` of the density tells which is so.

    Parameters
    ----------
    similarity, log_density
        Of the queries: `dat_lib.translation.similarities`, and log D [N, K, M] of `ReferenceDensity`.
    labels, attributes
        [N]
    group, counterpart
        (label, attribute); by default the counterpart is `spurious_counterpart`. Both must have references.
    """
    check_translation(strength, "group", "ratio", epsilon, 1.0)
    if counterpart is None:
        counterpart = spurious_counterpart(similarity, labels, attributes, group)
    if group == counterpart:
        raise ValueError(f"group and counterpart are both {group}")
    if log_density.shape != similarity.groups.shape:
        raise ValueError(f"log_density has the shape {log_density.shape} where {similarity.groups.shape} is needed")
    parts = []
    for member, other in ((group, counterpart), (counterpart, group)):
        chosen = _members(similarity, labels, attributes, member)
        for y, a in (member, other):
            cosine = similarity.groups[chosen, y, a].astype(np.float64)
            logarithm = log_density[chosen, y, a].astype(np.float64)
            if not (logarithm < np.inf).all():
                raise ValueError(f"group {(y, a)} has no references, so it has no density")
            parts.append(
                [
                    chosen,
                    np.full(len(chosen), member == group),
                    np.full(len(chosen), (y, a) == member),
                    np.full(len(chosen), y),
                    np.full(len(chosen), a),
                    cosine,
                    np.exp(logarithm),
                    group_scores(cosine, logarithm, strength, epsilon),
                ]
            )
    return Triptych(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def group_scores(cosines: FloatArray, log_density: FloatArray, strength: float, epsilon: float) -> FloatArray:
    """s / (D + epsilon) ** strength, 0 where the density is infinite."""
    with np.errstate(over="ignore"):
        scores: FloatArray = cosines * np.exp(-strength * np.logaddexp(log_density, np.log(epsilon)))
    return scores


def summarise_triptych(triptych: Triptych) -> TriptychSummary:
    """What the eye is to see in the three panels, in numbers."""
    rows = []
    for quantity, towards in (("cosine", 1), ("density", -1), ("score", 1)):
        values: FloatArray = getattr(triptych, quantity)
        for of_group in (True, False):
            own, other = (
                values[(triptych.of_group == of_group) & (triptych.against_own == side)] for side in (True, False)
            )
            right = float((towards * own > towards * other).mean())
            medians = float(np.median(own)), float(np.median(other))
            rows.append([quantity, of_group, len(own), *medians, right, overlap(own, other)])
    return TriptychSummary(*map(np.array, zip(*rows, strict=True)))


def _members(
    similarity: Similarities, labels: npt.ArrayLike, attributes: npt.ArrayLike, group: tuple[int, int]
) -> IntArray:
    """Rows of a group's samples; all is checked."""
    count, classes, words = similarity.groups.shape
    labels = as_indices(labels, "labels", count=classes, length=count)
    attributes = as_indices(attributes, "attributes", count=words, length=count, allowed=(NO_ATTRIBUTE,))
    label, attribute = group
    if not (0 <= label < classes and 0 <= attribute < words):
        raise ValueError(f"there is no group {group} among {classes} classes and {words} attributes")
    chosen = np.flatnonzero((labels == label) & (attributes == attribute))
    if not len(chosen):
        raise ValueError(f"group {group} has no samples")
    return chosen
