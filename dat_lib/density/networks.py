"""Sorting networks (Batcher's odd-even merge sort), cut down to what brings a few wanted ranks to their places.

A network makes the same comparisons for every column of a table, whatever is in it, so that each is one `minimum` and
one `maximum` of many columns at once.
"""

from functools import lru_cache
from typing import NamedTuple


class Comparator(NamedTuple):
    """Put the smaller of rows `low` and `high` in `low` and the larger in `high`, as far as either is wanted."""

    low: int
    high: int
    want_smaller: bool
    want_larger: bool


@lru_cache(maxsize=64)
def selection_network(rows: int, ranks: tuple[int, ...]) -> tuple[Comparator, ...]:
    """Comparators that bring the wanted ranks of `rows` values to their places."""
    wanted = set(ranks)
    kept = []
    for low, high in reversed(sorting_network(rows)):
        if low in wanted or high in wanted:
            kept.append(Comparator(low, high, low in wanted, high in wanted))
            wanted |= {low, high}
    return tuple(reversed(kept))


def sorting_network(rows: int) -> list[tuple[int, int]]:
    """Batcher's odd-even merge sort of any number of rows, as pairs (smaller to the first, larger to the second)."""
    pairs = []
    run = 1
    while run < rows:
        step = run
        while step >= 1:
            for start in range(step % run, rows - step, 2 * step):
                for low in range(start, min(start + step, rows - step)):
                    if low // (2 * run) == (low + step) // (2 * run):
                        pairs.append((low, low + step))
            step //= 2
        run *= 2
    return pairs
