"""Samples of numbers side by side: histograms on common edges, quantiles, and how much two of them overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dat_lib.arrays import FloatArray, IdArray

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True)
class Histograms:
    """One row per bin of a series; the bins of all series are the same."""

    series: IdArray
    low: FloatArray
    high: FloatArray
    share: FloatArray
    """Of the series' values; shares of a series sum to 1."""
    density: FloatArray
    """Share over width, so that areas are 1."""


@dataclass(frozen=True)
class Quantiles:
    """One row a quantile of a series."""

    series: IdArray
    level: FloatArray
    value: FloatArray


def histograms(series: Mapping[str, FloatArray], bins: int = 40) -> Histograms:
    """Histograms of named samples on `bins` equal bins that span them all; one bin of width 1 where all are equal."""
    if bins < 1:
        raise ValueError(f"bins must be 1 or more, not {bins}")
    values = _checked(series)
    together = np.concatenate(list(values.values()))
    low, high = float(together.min()), float(together.max())
    edges = np.array([low - 0.5, low + 0.5]) if low == high else np.linspace(low, high, bins + 1)
    if not (np.diff(edges) > 0).all():
        raise ValueError(f"{bins} bins between {low} and {high} are narrower than numbers can tell apart")
    width = np.diff(edges)
    shares = [np.histogram(array, edges)[0] / len(array) for array in values.values()]
    return Histograms(
        series=np.repeat(list(values), len(width)),
        low=np.tile(edges[:-1], len(values)),
        high=np.tile(edges[1:], len(values)),
        share=np.concatenate(shares),
        density=np.concatenate([share / width for share in shares]),
    )


def quantiles(series: Mapping[str, FloatArray], levels: Sequence[float] = QUANTILES) -> Quantiles:
    """Quantiles of named samples, linear between values."""
    values = _checked(series)
    if not all(0 <= level <= 1 for level in levels):
        raise ValueError(f"levels must lie in [0, 1], not {list(levels)}")
    return Quantiles(
        series=np.repeat(list(values), len(levels)),
        level=np.tile(np.asarray(levels, dtype=np.float64), len(values)),
        value=np.concatenate([np.quantile(array, levels) for array in values.values()]),
    )


def overlap(first: FloatArray, second: FloatArray) -> float:
    """1 minus the largest difference of the two cumulative distributions: 1 where alike, 0 where one lies below all."""
    values = _checked({"first": first, "second": second})
    points = np.concatenate(list(values.values()))
    shares = [np.searchsorted(np.sort(array), points, side="right") / len(array) for array in values.values()]
    return 1 - float(np.abs(shares[0] - shares[1]).max())


def _checked(series: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    if not series:
        raise ValueError("there is no series of values")
    values: dict[str, FloatArray] = {name: np.asarray(array, dtype=np.float64) for name, array in series.items()}
    for name, array in values.items():
        if array.ndim != 1 or not len(array):
            raise ValueError(f"{name} must be a vector with values, not of the shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} is not finite everywhere")
    return values
