"""How sure a measured accuracy is: bootstrap over samples, stratified by group.

Resampling n_g samples of a group with replacement and counting the correct ones is a draw from a binomial (for two
methods on the same samples, a multinomial) distribution, so counts are drawn and no sample is copied.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray
from dat_lib.metrics import (
    GroupIndex,
    Grouping,
    GroupKey,
    correctness,
    group_accuracies,
    index_groups,
    reference_weights,
    summarise,
)


@dataclass(frozen=True)
class Interval:
    """A figure in percent and the interval between two quantiles of its bootstrap distribution."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class BootstrapMetrics:
    """Intervals of the figures of `group_metrics`."""

    worst_group: Interval
    """The smallest of several noisy accuracies: resampling makes it smaller still, so that the interval may lie
    mostly below the estimate."""
    average: Interval
    average_adjusted: Interval | None
    gap: Interval
    worst_share: dict[GroupKey, float]
    """How often each group is the worst, as a share of the resamples; ties count in equal parts."""


@dataclass(frozen=True)
class Difference(Interval):
    """First method minus second, in points."""

    higher: float
    """Share of resamples in which the first has the higher figure; ties count half."""


@dataclass(frozen=True)
class PairedBootstrap:
    """Differences of two methods on the same samples."""

    worst_group: Difference
    average: Difference
    average_adjusted: Difference | None
    gap: Difference


def bootstrap_metrics(
    predictions: npt.ArrayLike,
    labels: npt.ArrayLike,
    attributes: npt.ArrayLike,
    *,
    groups: Grouping = "class_attribute",
    reference_counts: npt.ArrayLike | None = None,
    never_worst: Collection[int] = (),
    n_classes: int | None = None,
    n_attributes: int | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> BootstrapMetrics:
    """Percentile intervals of worst group, averages and gap, with group sizes held fixed.

    The first eight parameters are those of `group_metrics`. Equal arguments give equal intervals.
    """
    index = index_groups(
        labels,
        attributes,
        groups=groups,
        never_worst=never_worst,
        n_classes=n_classes,
        n_attributes=n_attributes,
    )
    tails = _tails(resamples, confidence)
    totals = index.totals
    correct = index.counts(correctness(predictions, labels))
    share = correct / np.maximum(totals, 1)
    drawn = np.random.default_rng(seed).binomial(totals, share, size=(resamples, len(totals)))
    weights = None if reference_counts is None else reference_weights(index, reference_counts, groups=groups)
    observed = _figures(index, correct, weights)
    resampled = _figures(index, drawn, weights)
    intervals = {
        name: Interval(float(value), *map(float, np.quantile(resampled[name], tails)))
        for name, value in observed.items()
    }
    accuracy = group_accuracies(index, drawn)
    lowest = accuracy == accuracy.min(axis=1, keepdims=True)
    shares = (lowest / lowest.sum(axis=1, keepdims=True)).mean(axis=0)
    return BootstrapMetrics(
        worst_group=intervals["worst_group"],
        average=intervals["average"],
        average_adjusted=intervals.get("average_adjusted"),
        gap=intervals["gap"],
        worst_share={key: float(value) for key, value in zip(index.keys, shares, strict=True)},
    )


def paired_bootstrap(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    labels: npt.ArrayLike,
    attributes: npt.ArrayLike,
    *,
    groups: Grouping = "class_attribute",
    reference_counts: npt.ArrayLike | None = None,
    never_worst: Collection[int] = (),
    n_classes: int | None = None,
    n_attributes: int | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairedBootstrap:
    """Differences between two methods, whose predictions `first` and `second` [N] are for the same samples.

    Both are resampled together, so that what they get right or wrong in common does not blur the difference.
    """
    index = index_groups(
        labels,
        attributes,
        groups=groups,
        never_worst=never_worst,
        n_classes=n_classes,
        n_attributes=n_attributes,
    )
    tails = _tails(resamples, confidence)
    ours, theirs = correctness(first, labels), correctness(second, labels)
    outcomes = np.stack([index.counts(mask) for mask in (ours & theirs, ours & ~theirs, ~ours & theirs)], axis=1)
    totals = index.totals
    shares = np.column_stack([outcomes, totals - outcomes.sum(axis=1)]) / np.maximum(totals, 1)[:, None]
    shares[totals == 0, -1] = 1
    drawn = np.random.default_rng(seed).multinomial(totals, shares, size=(resamples, len(totals)))
    weights = None if reference_counts is None else reference_weights(index, reference_counts, groups=groups)

    def differences(counts: npt.NDArray[np.integer]) -> dict[str, FloatArray]:
        both, only_first, only_second = (counts[..., column] for column in range(3))
        left = _figures(index, both + only_first, weights)
        right = _figures(index, both + only_second, weights)
        return {name: left[name] - right[name] for name in left}

    observed, resampled = differences(outcomes), differences(drawn)
    found = {}
    for name, value in observed.items():
        low, high = np.quantile(resampled[name], tails)
        higher = np.mean(resampled[name] > 0) + np.mean(resampled[name] == 0) / 2
        found[name] = Difference(float(value), float(low), float(high), float(higher))
    return PairedBootstrap(found["worst_group"], found["average"], found.get("average_adjusted"), found["gap"])


def _figures(index: GroupIndex, correct: npt.NDArray[np.integer], weights: FloatArray | None) -> dict[str, FloatArray]:
    worst, average, adjusted = summarise(index, correct, weights)
    figures = {"worst_group": worst, "average": average, "gap": average - worst}
    return figures if adjusted is None else {**figures, "average_adjusted": adjusted}


def _tails(resamples: int, confidence: float) -> tuple[float, float]:
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, not {resamples}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    return (1 - confidence) / 2, (1 + confidence) / 2
