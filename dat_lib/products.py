"""Shapes of matrix products for which a column's result has the same bits whatever columns come with it.

Linear algebra libraries choose their kernels by shape, and kernels add in different orders. With rows and columns in
whole multiples of these numbers the choice was the same for all shapes tried, in float32 and float64, in one thread
and in several; tests hold it. So queries may come in blocks of any size and still get the same densities and scores.
"""

ROWS = 8
COLUMNS = 24


def round_up(count: int, multiple: int) -> int:
    """The smallest multiple that is not less than `count`."""
    return -(-count // multiple) * multiple
