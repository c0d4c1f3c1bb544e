"""Matrix products in which a column has the same bits whatever columns come with it.

Linear algebra libraries choose by shapes, by the number of threads and by where in memory things lie in which order
they add, on each kind of processor in another way. So columns are multiplied in the same number at a time, always, in
one thread, and where torch puts them. Queries may then come in blocks of any size, to any number of workers, and still
get the same densities and scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dat_lib.density.threads import one_thread

if TYPE_CHECKING:
    import torch

COLUMNS = 384
"""Columns that are multiplied at a time: with so many, libraries are about as fast as they get."""
_ALIGNED = 64
"""Bytes of which torch's own memory begins at a multiple, and so does every `COLUMNS`-th row."""


def multiply(left: torch.Tensor, right: torch.Tensor, out: torch.Tensor, columns: int = COLUMNS) -> torch.Tensor:
    """The product of left [M, d] with right [N, d], transposed, written to `out` [M, N]; `columns` must divide N.

    Both must lie in memory of torch's own, from its beginning.
    """
    import torch

    assert len(right) % columns == 0
    for factor in (left, right):
        assert factor.is_contiguous()
        assert factor.data_ptr() % _ALIGNED == 0
    with one_thread():
        for start in range(0, len(right), columns):
            some = slice(start, start + columns)
            torch.mm(left, right[some].T, out=out[:, some])
    return out


def round_up(count: int) -> int:
    """The smallest multiple of `COLUMNS` that is not less than `count`."""
    return -(-count // COLUMNS) * COLUMNS
