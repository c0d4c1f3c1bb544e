"""Accuracy by group: worst group, plain and adjusted average, gap, all in percent."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import NO_ATTRIBUTE, FloatArray, IntArray, as_indices

Grouping: TypeAlias = Literal["class_attribute", "attribute"]
"""What a group is: a pair of class and attribute, or an attribute alone (FMoW's regions)."""

GroupKey: TypeAlias = tuple[int | None, int]
"""(label, attribute); the label is None where groups go by attribute alone."""


@dataclass(frozen=True)
class GroupAccuracy:
    """How many samples of one group were classified rightly."""

    label: int | None
    attribute: int
    correct: int
    total: int

    @property
    def accuracy(self) -> float | None:
        """Percent, or None for a group without samples."""
        return 100.0 * self.correct / self.total if self.total else None

    @property
    def key(self) -> GroupKey:
        """(label, attribute), the group's key in `GroupMetrics.per_group`."""
        return self.label, self.attribute


@dataclass(frozen=True)
class GroupMetrics:
    """The result of `group_metrics`; every figure is in percent."""

    worst_group: float
    """Lowest accuracy over the groups that have samples."""
    average: float
    """Share of all samples that are right, whatever their group."""
    average_adjusted: float | None
    """Group accuracies weighted by the group sizes of the reference split; None where those were not given."""
    gap: float
    """`average - worst_group`."""
    worst: GroupAccuracy
    """The worst group; the first in order where several tie."""
    per_group: dict[GroupKey, GroupAccuracy]
    """Every group in order of (label, attribute), those without samples as well."""


@dataclass(frozen=True)
class GroupIndex:
    """Which group each sample belongs to."""

    keys: tuple[GroupKey, ...]
    of_sample: IntArray
    """[N] positions in `keys`."""
    may_be_worst: npt.NDArray[np.bool_]
    """[G] False for groups kept out of the worst group."""

    @cached_property
    def totals(self) -> IntArray:
        """[G] samples per group."""
        return np.bincount(self.of_sample, minlength=len(self.keys))

    def counts(self, chosen: npt.NDArray[np.bool_]) -> IntArray:
        """[G] samples per group among those chosen by a mask [N]."""
        return np.bincount(self.of_sample[chosen], minlength=len(self.keys))


def group_metrics(
    predictions: npt.ArrayLike,
    labels: npt.ArrayLike,
    attributes: npt.ArrayLike,
    *,
    groups: Grouping = "class_attribute",
    reference_counts: npt.ArrayLike | None = None,
    never_worst: Collection[int] = (),
    n_classes: int | None = None,
    n_attributes: int | None = None,
) -> GroupMetrics:
    """Accuracy of predictions [N] by group, against labels [N] and attributes [N].

    A prediction outside the classes (for example -1, "no answer") counts as wrong. Groups without samples are
    listed and never the worst. An attribute of -1 is one that no word describes: those samples form a group of
    their own, which counts in the average and is never the worst.

    Parameters
    ----------
    groups
        "class_attribute": groups are pairs (y, a). "attribute": groups are attributes alone.
    reference_counts
        Group sizes of the training split, [K, M], or [M] where groups go by attribute, for the adjusted average
        sum_g acc_g n_g / sum_g n_g. The sums run over groups that have samples here.
    never_worst
        Attributes kept out of the worst group, though they count in the average (WILDS: FMoW's "Other").
    n_classes, n_attributes
        Their numbers K and M, so that groups without samples are listed; by default as many as occur.

    Examples
    --------
    >>> m = group_metrics([0, 0, 1, 1], labels=[0, 0, 0, 1], attributes=[0, 0, 1, 0])
    >>> m.worst_group, m.average, m.gap, m.worst.key
    (0.0, 75.0, 75.0, (0, 1))
    """
    index = index_groups(
        labels,
        attributes,
        groups=groups,
        never_worst=never_worst,
        n_classes=n_classes,
        n_attributes=n_attributes,
    )
    correct = index.counts(correctness(predictions, labels))
    per_group = {
        key: GroupAccuracy(*key, int(right), int(total))
        for key, right, total in zip(index.keys, correct, index.totals, strict=True)
    }
    weights = None if reference_counts is None else reference_weights(index, reference_counts, groups=groups)
    worst, average, adjusted = summarise(index, correct, weights)
    position = int(np.argmin(group_accuracies(index, correct)))
    return GroupMetrics(
        worst_group=float(worst),
        average=float(average),
        average_adjusted=None if adjusted is None else float(adjusted),
        gap=float(average - worst),
        worst=per_group[index.keys[position]],
        per_group=per_group,
    )


def index_groups(
    labels: npt.ArrayLike,
    attributes: npt.ArrayLike,
    *,
    groups: Grouping = "class_attribute",
    never_worst: Collection[int] = (),
    n_classes: int | None = None,
    n_attributes: int | None = None,
) -> GroupIndex:
    """Place each sample in its group; the parameters are those of `group_metrics`."""
    if groups not in get_args(Grouping):
        raise ValueError(f"groups must be one of {', '.join(get_args(Grouping))}, not {groups!r}")
    labels = as_indices(labels, "labels", count=n_classes)
    attributes = as_indices(attributes, "attributes", count=n_attributes, length=len(labels), allowed=(NO_ATTRIBUTE,))
    if len(labels) == 0:
        raise ValueError("there are no samples to measure")
    classes = n_classes if n_classes is not None else int(labels.max()) + 1
    described = n_attributes if n_attributes is not None else int(attributes.max()) + 1
    undescribed = bool((attributes == NO_ATTRIBUTE).any())
    columns = [*range(described), *([NO_ATTRIBUTE] if undescribed else [])]
    rows: list[int | None] = [None] if groups == "attribute" else list(range(classes))
    column = np.where(attributes == NO_ATTRIBUTE, described, attributes)
    row = np.zeros_like(labels) if groups == "attribute" else labels
    kept_out = {NO_ATTRIBUTE, *never_worst}
    keys = tuple((y, a) for y in rows for a in columns)
    index = GroupIndex(keys, row * len(columns) + column, np.array([a not in kept_out for _, a in keys]))
    if not (index.totals[index.may_be_worst] > 0).any():
        raise ValueError("no group that may be the worst has samples")
    return index


def correctness(predictions: npt.ArrayLike, labels: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """[N] whether each prediction is right."""
    predictions, labels = np.asarray(predictions), np.asarray(labels)
    if predictions.shape != labels.shape:
        raise ValueError(f"predictions have the shape {predictions.shape} where {labels.shape} is needed")
    if not np.issubdtype(predictions.dtype, np.integer):
        raise ValueError(f"predictions must be integers, not {predictions.dtype}")
    return np.asarray(predictions == labels)


def reference_weights(index: GroupIndex, counts: npt.ArrayLike, *, groups: Grouping) -> FloatArray:
    """[G] weights of groups in the adjusted average, from sizes [K, M] (or [M]); 0 for an undescribed attribute."""
    sizes = np.asarray(counts, dtype=np.float64)
    attributes = sorted({a for _, a in index.keys} - {NO_ATTRIBUTE})
    classes = len({y for y, _ in index.keys})
    shape = (len(attributes),) if groups == "attribute" else (classes, len(attributes))
    if sizes.shape != shape:
        raise ValueError(f"reference_counts has the shape {sizes.shape} where {shape} is needed")
    if not (np.isfinite(sizes).all() and (sizes >= 0).all()):
        raise ValueError("reference_counts must be finite and not negative")
    table = sizes.reshape(-1, len(attributes))
    weights = np.array([0.0 if a == NO_ATTRIBUTE else table[y or 0, a] for y, a in index.keys])
    if weights[index.totals > 0].sum() == 0:
        raise ValueError("reference_counts are zero for every group that has samples")
    return weights


def summarise(
    index: GroupIndex, correct: IntArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Worst group, average and adjusted average in percent, each [...], of correct counts [..., G]."""
    totals = index.totals
    worst = group_accuracies(index, correct).min(axis=-1)
    average = 100.0 * correct.sum(axis=-1) / totals.sum()
    if weights is None:
        return worst, average, None
    seen = totals > 0
    accuracy = 100.0 * correct[..., seen] / totals[seen]
    return worst, average, accuracy @ weights[seen] / weights[seen].sum()


def group_accuracies(index: GroupIndex, correct: IntArray) -> FloatArray:
    """Accuracies in percent of correct counts [..., G]; infinite for groups that cannot be the worst."""
    totals = index.totals
    candidates = index.may_be_worst & (totals > 0)
    return np.where(candidates, 100.0 * correct / np.maximum(totals, 1), np.inf)
