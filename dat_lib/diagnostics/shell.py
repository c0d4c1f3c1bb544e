"""Figure 1a: the shape of the shell that embeddings lie on, for images and prompts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import NO_ATTRIBUTE, FloatArray, IdArray, IntArray, as_indices, as_vectors, normalise

BLOCK = 8192
"""Rows whose second moments are summed at a time in float64."""
ALL = -2
"""Label and attribute of a row that is about a whole modality."""


@dataclass(frozen=True)
class ShellSamples:
    """One row per sample of a modality."""

    modality: IdArray
    """"image" or "text"."""
    row: IntArray
    """Position among the samples of its modality."""
    label: IntArray
    """-1 for prompts."""
    attribute: IntArray
    """-1 for prompts and for images that no attribute word describes."""
    norm: FloatArray
    """Length of the embedding as given."""
    distance: FloatArray
    """Distance of the unit embedding to the mean of those of its modality (not renormalised)."""
    cosine: FloatArray
    """Cosine with that mean: nearly the mean cosine with all others of the modality."""


@dataclass(frozen=True)
class ShellSpectrum:
    """One row per axis of a modality: principal variances of the unit embeddings around their mean."""

    modality: IdArray
    rank: IntArray
    """From 1, the largest."""
    variance: FloatArray
    share: FloatArray
    """Of the total variance."""
    cumulative: FloatArray


@dataclass(frozen=True)
class ShellSummary:
    """One row per modality (label and attribute -2) and one per group of images."""

    modality: IdArray
    label: IntArray
    attribute: IntArray
    count: IntArray
    norm_mean: FloatArray
    norm_deviation: FloatArray
    mean_length: FloatArray
    """Length of the mean of the unit embeddings: 1 where all are equal, 0 where they surround the origin evenly."""
    distance_mean: FloatArray
    """Mean distance to the mean of the modality: larger for groups further out."""
    distance_deviation: FloatArray
    own_distance_mean: FloatArray
    """Mean distance to the group's own mean: larger for groups that spread wider."""
    effective_dimension: FloatArray
    """Participation ratio of the principal variances, (sum v)^2 / sum v^2: d for a ball, 1 for a line; nan below 2."""
    largest_share: FloatArray
    """Share of the variance along the longest axis; nan below 2 samples."""
    modality_gap: FloatArray
    """Distance between the mean unit image and the mean unit prompt; of a group's mean in its row; nan without text."""


@dataclass(frozen=True)
class Shell:
    """Three tables on the same embeddings."""

    samples: ShellSamples
    spectrum: ShellSpectrum
    summary: ShellSummary


def embedding_shell(
    images: npt.ArrayLike,
    labels: npt.ArrayLike,
    attributes: npt.ArrayLike,
    texts: npt.ArrayLike | None = None,
) -> Shell:
    """Describe image embeddings [N, d] as the encoder gave them, not normalised, and prompts [T, d] where given.

    Variances are exact to rounding: the order in which BLAS and LAPACK sum goes with the number of threads.
    """
    vectors = {"image": as_vectors(images, "images")}
    count = len(vectors["image"])
    if not count:
        raise ValueError("there are no images")
    labels = as_indices(labels, "labels", length=count)
    attributes = as_indices(attributes, "attributes", length=count, allowed=(NO_ATTRIBUTE,))
    if texts is not None:
        vectors["text"] = as_vectors(texts, "texts", dim=vectors["image"].shape[1])
        if not len(vectors["text"]):
            raise ValueError("there are no texts; leave them out")
    unit = {name: normalise(array.astype(np.float64), f"{name}s") for name, array in vectors.items()}
    means = {name: array.mean(axis=0) for name, array in unit.items()}
    samples, spectrum, summary = [], [], []
    for name, array in unit.items():
        of_label, of_attribute = (labels, attributes) if name == "image" else [np.full(len(array), -1)] * 2
        norms = np.linalg.norm(vectors[name].astype(np.float64), axis=1)
        distances = _distances(array, means[name])
        length = float(np.linalg.norm(means[name]))
        cosines = np.einsum("ij,j->i", array, means[name]) / length if length else np.full(len(array), np.nan)
        kind = np.full(len(array), name)
        samples.append([kind, np.arange(len(array)), of_label, of_attribute, norms, distances, cosines])
        variances = principal_variances(array)
        total = float(variances.sum()) or 1.0
        ranks = np.arange(1, len(variances) + 1)
        axes = np.full(len(variances), name)
        spectrum.append([axes, ranks, variances, variances / total, np.cumsum(variances) / total])
        other = means.get("text" if name == "image" else "image")
        summary.append([name, ALL, ALL, *_summary(array, norms, distances, other, variances)])
        if name == "image":
            for y, a in sorted(set(zip(labels.tolist(), attributes.tolist(), strict=True))):
                chosen = (labels == y) & (attributes == a)
                found = _summary(array[chosen], norms[chosen], distances[chosen], other, None)
                summary.append([name, y, a, *found])
    return Shell(
        ShellSamples(*map(np.concatenate, zip(*samples, strict=True))),
        ShellSpectrum(*map(np.concatenate, zip(*spectrum, strict=True))),
        ShellSummary(*map(np.array, zip(*summary, strict=True))),
    )


def principal_variances(vectors: FloatArray) -> FloatArray:
    """Variances [min(N, d)] along the principal axes of vectors [N, d], from the largest."""
    centred = vectors - vectors.mean(axis=0)
    count, dim = vectors.shape
    if count <= dim:
        products = centred @ centred.T
    else:
        products = np.zeros((dim, dim))
        for start in range(0, count, BLOCK):
            products += centred[start : start + BLOCK].T @ centred[start : start + BLOCK]
    variances: FloatArray = np.maximum(0, np.linalg.eigvalsh(products)[::-1] / count)
    return variances


def _summary(
    unit: FloatArray, norms: FloatArray, distances: FloatArray, other: FloatArray | None, variances: FloatArray | None
) -> list[float]:
    """The columns of `ShellSummary` from `count` on."""
    mean = unit.mean(axis=0)
    if len(unit) < 2:
        dimension = share = np.nan
    else:
        variances = principal_variances(unit) if variances is None else variances
        total = float(variances.sum())
        dimension = total**2 / float((variances**2).sum()) if total else np.nan
        share = float(variances[0]) / total if total else np.nan
    return [
        len(unit),
        float(norms.mean()),
        float(norms.std()),
        float(np.linalg.norm(mean)),
        float(distances.mean()),
        float(distances.std()),
        float(_distances(unit, mean).mean()),
        dimension,
        share,
        np.nan if other is None else float(np.linalg.norm(mean - other)),
    ]


def _distances(vectors: FloatArray, centre: FloatArray) -> FloatArray:
    distances: FloatArray = np.linalg.norm(vectors - centre, axis=1)
    return distances
