"""How far what a forced rerun has made is from what is stored."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_catalog.store.manifest import Manifest


def drift_between(stored: pa.Table, fresh: pa.Table) -> float | None:
    """Return the largest absolute difference of numbers in the same place, None where the tables do not correspond.

    Tables correspond when they have the same columns and rows and agree in everything that is not a number.
    """
    if stored.schema != fresh.schema or stored.num_rows != fresh.num_rows:
        return None
    largest = 0.0
    for name in stored.column_names:
        before, after = (table.column(name).combine_chunks() for table in (stored, fresh))
        if before.equals(after):
            continue
        numbers = _numbers(before, after)
        if numbers is None:
            return None
        with np.errstate(invalid="ignore"):
            difference = np.abs(numbers[0] - numbers[1])
        unlike = np.isnan(numbers[0]) != np.isnan(numbers[1])
        largest = max(largest, float(np.nanmax(np.where(unlike, np.inf, difference), initial=0.0)))
    return largest


def metric_changes(stored: Manifest, summary: Mapping[str, Any]) -> dict[str, float]:
    """Return by how many points worst-group and average accuracy have changed, for results; else nothing.

    Where the method was not applicable, or is not now, there is nothing to compare.
    """
    names = {"wg": "wg_change", "avg": "avg_change"}
    if stored.step != "metrics" or not names.keys() <= summary.keys() & stored.summary.keys():
        return {}
    return {change: summary[name] - stored.summary[name] for name, change in names.items()}


def _numbers(*arrays: pa.Array) -> list[npt.NDArray[np.float64]] | None:
    """Return columns of numbers, or of lists of numbers of the same lengths, flat; missing ones as NaN.

    None for columns of anything else.
    """
    while all(map(_is_list, arrays)):
        lengths = [array.value_lengths() for array in arrays]
        if not lengths[0].equals(lengths[1]):
            return None
        arrays = tuple(array.flatten() for array in arrays)
    if not all(map(_is_number, arrays)):
        return None
    return [np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64) for array in arrays]


def _is_list(array: pa.Array) -> bool:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(kind(array.type) for kind in kinds)


def _is_number(array: pa.Array) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return any(kind(array.type) for kind in kinds)
