"""The arrays every function of the library accepts, and the refusal of bad ones before any heavy work."""

from collections.abc import Collection
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IdArray: TypeAlias = npt.NDArray[Any]
"""Sample ids, compared for equality: an array of strings (or of integers)."""

NO_ATTRIBUTE = -1
"""The attribute of a sample that no attribute word describes (FMoW's region "Other")."""


def as_vectors(values: npt.ArrayLike, name: str, *, ndim: int = 2, dim: int | None = None) -> FloatArray:
    """Check vectors along the last axis: `ndim` axes, finite, of dimension `dim` where that is given.

    float32 and float64 are kept as they are, float16 is widened to float32 and integers to float64.
    """
    array = np.asarray(values)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    elif np.issubdtype(array.dtype, np.integer):
        array = array.astype(np.float64)
    elif array.dtype not in (np.float32, np.float64):
        raise ValueError(f"{name} must hold real numbers, not {array.dtype}")
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} axes, not the shape {array.shape}")
    if array.shape[-1] == 0:
        raise ValueError(f"{name} has vectors of dimension 0")
    if dim is not None and array.shape[-1] != dim:
        raise ValueError(f"{name} has vectors of dimension {array.shape[-1]} where {dim} is needed")
    finite = np.isfinite(array).all(axis=-1)
    if not finite.all():
        raise ValueError(f"{name} is not finite at {_positions(~finite)}")
    return np.ascontiguousarray(array)  # because the order of a sum depends on how numbers lie in memory


def as_indices(
    values: npt.ArrayLike,
    name: str,
    *,
    count: int | None = None,
    length: int | None = None,
    allowed: Collection[int] = (),
) -> IntArray:
    """Check a vector of class or attribute numbers: integers in [0, count), besides those in `allowed`."""
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be integers, not {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name} must have 1 axis, not the shape {array.shape}")
    if length is not None and len(array) != length:
        raise ValueError(f"{name} has {len(array)} entries where {length} are needed")
    wrong = array < 0 if count is None else (array < 0) | (array >= count)
    if allowed:
        wrong &= ~np.isin(array, list(allowed))
    if wrong.any():
        bounds = "must not be negative" if count is None else f"must lie in 0..{count - 1}"
        raise ValueError(f"{name} {bounds}, but holds {array[wrong][0]} at {_positions(wrong)}")
    return array


def as_ids(values: npt.ArrayLike, name: str, *, length: int) -> IdArray:
    """Check a vector of sample ids."""
    array = np.asarray(values)
    if array.shape != (length,):
        raise ValueError(f"{name} has the shape {array.shape} where ({length},) is needed")
    return array


def matching_ids(ids: IdArray, others: IdArray) -> tuple[IntArray, IntArray]:
    """All pairs (i, j) with ids[i] == others[j], as two arrays."""
    order = np.argsort(others, kind="stable")
    ordered = others[order]
    first = np.searchsorted(ordered, ids, side="left")
    count = np.searchsorted(ordered, ids, side="right") - first
    rows = np.repeat(np.arange(len(ids)), count)
    offset = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    return rows, order[first[rows] + offset]


def normalise(vectors: FloatArray, name: str) -> FloatArray:
    """Divide each vector (last axis) by its Euclidean norm, safely for very long and very short ones.

    A zero vector has no direction, so it is refused.
    """
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    if not largest.all():
        raise ValueError(f"{name} is zero, so it has no direction, at {_positions(largest[..., 0] == 0)}")
    scaled: FloatArray = vectors / largest
    scaled /= np.sqrt(np.einsum("...i,...i->...", scaled, scaled))[..., None]
    return scaled


def _positions(where: BoolArray, shown: int = 5) -> str:
    found = np.argwhere(where)
    rows = ", ".join(str(row[0]) if len(row) == 1 else str(tuple(map(int, row))) for row in found[:shown])
    more = f" and {len(found) - shown} more" if len(found) > shown else ""
    return f"position{'s' if len(found) > 1 else ''} {rows}{more}"
