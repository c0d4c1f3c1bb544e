"""Reference sets: which samples of a pool stand for each group (y, a)."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import NO_ATTRIBUTE, IntArray, as_ids, as_indices, as_vectors, normalise
from dat_lib.choices import Sampling as Sampling
from dat_lib.choices import Shortage as Shortage
from dat_lib.herding import herd
from dat_lib.reference_sets import DroppedGroup as DroppedGroup
from dat_lib.reference_sets import GroupReferences as GroupReferences
from dat_lib.reference_sets import needed


def select_references(
    embeddings: npt.ArrayLike,
    labels: npt.ArrayLike,
    attributes: npt.ArrayLike,
    *,
    n: int,
    k: int,
    n_classes: int,
    n_attributes: int,
    shortage: Shortage = "drop",
    sampling: Sampling = "herding",
    seed: int = 0,
    sample_ids: npt.ArrayLike | None = None,
) -> GroupReferences:
    """Choose n references for each group (y, a) from a pool: embeddings [P, d], labels [P], attributes [P].

    Attributes may be true, inferred (`infer_attributes`) or corrupted (`corrupt_groups`); a sample with attribute
    -1 belongs to no group. Embeddings are normalised first.

    Parameters
    ----------
    k
        Neighbours that densities will ask for (the largest, if there are several); n must exceed it.
    shortage
        What becomes of a group with fewer than n samples. "drop", the paper's rule: it gets no references and is
        listed in `dropped`. "use": it keeps all it has where those are more than k, else it is dropped.
    sampling
        "herding", or "random": without replacement, by `seed` and group, whatever the other groups hold.
    """
    check_selection(n, k, shortage, sampling)
    embeddings = as_vectors(embeddings, "embeddings")
    labels = as_indices(labels, "labels", count=n_classes, length=len(embeddings))
    attributes = as_indices(
        attributes, "attributes", count=n_attributes, length=len(embeddings), allowed=(NO_ATTRIBUTE,)
    )
    ids = None if sample_ids is None else as_ids(sample_ids, "sample_ids", length=len(embeddings))
    need = needed(n, k, shortage)
    chosen: list[IntArray] = [np.empty(0, dtype=np.int64)]
    dropped = []
    for label in range(n_classes):
        for attribute in range(n_attributes):
            members = np.flatnonzero((labels == label) & (attributes == attribute))
            if len(members) < need:
                dropped.append(DroppedGroup(label, attribute, len(members), need))
                continue
            size = min(n, len(members))
            if sampling == "herding":
                picked = herd(normalise(embeddings[members], "embeddings"), size)
            else:
                rng = np.random.default_rng([seed, label, attribute])
                picked = rng.choice(len(members), size, replace=False)
            chosen.append(members[picked])
    positions = np.concatenate(chosen)
    return GroupReferences(
        vectors=normalise(embeddings[positions], "embeddings"),
        labels=labels[positions],
        attributes=attributes[positions],
        positions=positions,
        ids=None if ids is None else ids[positions],
        n_classes=n_classes,
        n_attributes=n_attributes,
        dropped=tuple(dropped),
    )


def corrupt_groups(
    labels: npt.ArrayLike, attributes: npt.ArrayLike, *, rate: float, seed: int, n_classes: int, n_attributes: int
) -> tuple[IntArray, IntArray]:
    """Labels and attributes [P] in which a share `rate` of the samples is put in another group, drawn evenly.

    Rounded to whole samples, drawn without replacement; samples with attribute -1 are left as they are.
    """
    _check_rate(rate)
    labels = as_indices(labels, "labels", count=n_classes)
    attributes = as_indices(attributes, "attributes", count=n_attributes, length=len(labels), allowed=(NO_ATTRIBUTE,))
    groups = n_classes * n_attributes
    if groups < 2:
        raise ValueError("with one group only there is no other to put a sample in")
    rng = np.random.default_rng(seed)
    described = np.flatnonzero(attributes != NO_ATTRIBUTE)
    moved = rng.choice(described, round(rate * len(described)), replace=False)
    group = labels[moved] * n_attributes + attributes[moved]
    group = (group + rng.integers(1, groups, len(moved))) % groups
    labels, attributes = labels.copy(), attributes.copy()
    labels[moved], attributes[moved] = group // n_attributes, group % n_attributes
    return labels, attributes


def corrupt_references(references: GroupReferences, *, rate: float, seed: int) -> GroupReferences:
    """References in which a share `rate` of each group has changed places with references of other groups.

    Each exchange is between two groups, so that all keep their sizes (the paper's rule would drop a group that
    lost one). Rounded to whole references; where the shares do not pair up, the last few stay.
    """
    _check_rate(rate)
    rng = np.random.default_rng(seed)
    groups = references.groups
    rows = [rng.permutation(references.rows(*group)) for group in groups]
    left = np.array([round(rate * len(group_rows)) for group_rows in rows], dtype=np.int64)
    source = np.arange(len(references.labels))
    while (left > 0).sum() > 1:
        # The fullest group goes first, so that as few as possible are left without a partner.
        first = int(rng.choice(np.flatnonzero(left == left.max())))
        others = np.where(np.arange(len(left)) == first, 0, left)
        second = int(rng.choice(len(left), p=others / others.sum()))
        left[[first, second]] -= 1
        pair = [rows[first][left[first]], rows[second][left[second]]]
        source[pair] = source[pair[::-1]]
    return replace(
        references,
        vectors=references.vectors[source],
        positions=references.positions[source],
        ids=None if references.ids is None else references.ids[source],
    )


def check_selection(n: int, k: int, shortage: str, sampling: str) -> None:
    """Refuse settings that no pool can serve."""
    if n <= k:
        raise ValueError(f"k={k} neighbours need more than k references per group, but n={n}")
    for name, value, known in (
        ("shortage", shortage, get_args(Shortage)),
        ("sampling", sampling, get_args(Sampling)),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")


def _check_rate(rate: float) -> None:
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must lie in [0, 1], not {rate}")
