"""Vectors of some rows of a table, a block at a time, so that the table may be larger than the memory."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dat_lib.arrays import BoolArray, IntArray

Vectors = npt.NDArray[np.float32]

BLOCK_ROWS = 32_768
"""Samples whose vectors are at hand at a time. Where blocks are cut hangs on this and nothing else, however a table is
stored and however much memory there is, so that numbers do not either."""


def vector_blocks(table: pa.Table, chosen: BoolArray, name: str = "embedding", rows: int = 0) -> Iterator[Vectors]:
    """Yield the vectors [B, d] of the chosen rows, in order: B is `rows` (0: `BLOCK_ROWS`), but less in the last.

    `ValueError` when the table has another number of rows than `chosen`: none may be lost at its end.
    """
    if table.num_rows != len(chosen):
        raise ValueError(f"the table has {table.num_rows} rows where there should be {len(chosen)}")
    at_most, left, start, filled = rows or BLOCK_ROWS, int(chosen.sum()), 0, 0
    block: Vectors | None = None
    for batch in table.to_batches(max_chunksize=BLOCK_ROWS):
        column = batch.column(name)
        mask = chosen[start : start + len(column)]
        start += len(column)
        if not mask.any():
            continue
        found = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
        found = found if mask.all() else found[mask]
        while len(found):
            if block is None:
                block, filled = np.empty((min(at_most, left), found.shape[1]), found.dtype), 0
            taken = found[: len(block) - filled]
            block[filled : filled + len(taken)] = taken
            filled, found = filled + len(taken), found[len(taken) :]
            if filled == len(block):
                yield block
                left, block = left - filled, None


def vectors_where(table: pa.Table, chosen: BoolArray, name: str = "embedding") -> Vectors:
    """Return the vectors of the chosen rows, of which there is one at least, all at once."""
    return next(vector_blocks(table, chosen, name, rows=len(chosen)))


def vectors_at(table: pa.Table, rows: IntArray, name: str = "embedding") -> Vectors:
    """Return the vectors of rows, in the order in which these are given."""
    if not len(rows):
        return np.empty((0, table.schema.field(name).type.list_size), np.float32)
    chosen = np.zeros(table.num_rows, dtype=bool)
    chosen[rows] = True
    return vectors_where(table, chosen, name)[np.searchsorted(np.flatnonzero(chosen), rows)]
