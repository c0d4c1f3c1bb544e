"""Columns of Arrow tables as arrays, and back."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def vector_column(vectors: npt.NDArray[np.float32]) -> pa.FixedSizeListArray:
    """Return [N, d] as a column of N float vectors."""
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])


def vectors_of(table: pa.Table, name: str = "embedding") -> npt.NDArray[np.float32]:
    """Return a column of vectors as [N, d], without copying where it is one chunk."""
    column = table.column(name).combine_chunks()
    flat: npt.NDArray[np.float32] = column.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, column.type.list_size)


def integers(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """Return a column of integers."""
    values: npt.NDArray[np.int64] = table.column(name).to_numpy().astype(np.int64)
    return values


def texts(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """Return a column of texts."""
    return np.array(table.column(name).to_pylist(), dtype=np.str_)
