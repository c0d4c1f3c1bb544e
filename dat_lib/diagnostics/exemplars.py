"""Reference sets: which exemplars stand for each group, and how well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import NO_ATTRIBUTE, FloatArray, IdArray, IntArray, as_indices, as_vectors, normalise
from dat_lib.references import GroupReferences


@dataclass(frozen=True)
class Exemplars:
    """One row per reference, in order of (label, attribute) and of selection."""

    label: IntArray
    attribute: IntArray
    order: IntArray
    """From 1, the first chosen."""
    position: IntArray
    """Row of the pool."""
    sample_id: IdArray
    """Empty strings where the references have no ids."""
    group_size: IntArray
    """Samples of the pool in the group."""
    mean_cosine: FloatArray
    """Cosine with the mean of the group's pool: how typical it is."""
    mean_distance: FloatArray
    """Distance of the mean of the exemplars up to this one to the mean of the group's pool."""
    nearest: FloatArray
    """Distance to the nearest other exemplar of the group; nan where there is none."""
    typicality: FloatArray
    """Share of the group's pool that is further from its mean than this exemplar: near 1 for the most central."""


def describe_exemplars(
    references: GroupReferences, embeddings: npt.ArrayLike, labels: npt.ArrayLike, attributes: npt.ArrayLike
) -> Exemplars:
    """Describe references beside the pool they were chosen from: embeddings [P, d], labels [P], attributes [P].

    A reference whose group in the pool is another (corrupted ones) is measured against the group it stands for.
    """
    embeddings = as_vectors(embeddings, "embeddings", dim=references.vectors.shape[1])
    labels = as_indices(labels, "labels", length=len(embeddings))
    attributes = as_indices(attributes, "attributes", length=len(embeddings), allowed=(NO_ATTRIBUTE,))
    if not len(references.positions):
        raise ValueError("no group has references")
    if references.positions.max() >= len(embeddings):
        raise ValueError(f"references were chosen from a larger pool than {len(embeddings)} samples")
    parts = []
    for y, a in references.groups:
        rows = references.rows(y, a)
        members = np.flatnonzero((labels == y) & (attributes == a))
        if not len(members):
            raise ValueError(f"group {(y, a)} has references but no samples in the pool")
        pool = normalise(embeddings[members].astype(np.float64), "embeddings")
        chosen = references.vectors[rows].astype(np.float64)
        mean = pool.mean(axis=0)
        order = np.arange(1, len(rows) + 1)
        running = np.cumsum(chosen, axis=0) / order[:, None]
        away = np.linalg.norm(chosen - mean, axis=1)
        pool_away = np.sort(np.linalg.norm(pool - mean, axis=1))
        ids = np.full(len(rows), "") if references.ids is None else references.ids[rows]
        parts.append(
            [
                np.full(len(rows), y),
                np.full(len(rows), a),
                order,
                references.positions[rows],
                ids,
                np.full(len(rows), len(members)),
                np.einsum("ij,j->i", chosen, mean) / np.linalg.norm(mean),
                np.linalg.norm(running - mean, axis=1),
                _nearest(chosen),
                # A rounding's width keeps an exemplar from counting as further out than itself.
                1 - np.searchsorted(pool_away, away + 1e-9, side="right") / len(members),
            ]
        )
    return Exemplars(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _nearest(vectors: FloatArray) -> FloatArray:
    if len(vectors) < 2:
        return np.full(len(vectors), np.nan)
    others = (np.delete(vectors, row, axis=0) - vector for row, vector in enumerate(vectors))
    return np.array([np.linalg.norm(differences, axis=1).min() for differences in others])
