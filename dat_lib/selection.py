"""The k-th smallest of many short columns at once, by a sorting network whose comparators are whole-row operations.

Sorting each column by itself costs microseconds a column. A network (Batcher's odd-even merge sort) makes the same
comparisons for every column, so each is one `minimum` and one `maximum` of two rows, which run at memory speed.
Comparators that no wanted rank depends on are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch

LARGEST_NETWORK = 256
"""Above so many rows a network compares too much, and columns are sorted one by one."""


class Comparator(NamedTuple):
    """Put the smaller of rows `low` and `high` in `low` and the larger in `high`, as far as either is wanted."""

    low: int
    high: int
    want_smaller: bool
    want_larger: bool


def order_statistics(values: torch.Tensor, ranks: Sequence[int], scratch: torch.Tensor) -> torch.Tensor:
    """Order statistics [len(ranks), L] of each column of values [n, L]; rank 0 is the smallest.

    `values` is not changed. `scratch` is working space [n + 1, L] or more rows, of the dtype of `values`.
    """
    import torch

    rows = len(values)
    if rows > LARGEST_NETWORK:
        columns = values.T.contiguous()
        smallest = torch.topk(columns, max(ranks) + 1, dim=1, largest=False, sorted=True).values
        return smallest[:, list(ranks)].T.contiguous()

    # Rows of `values` are only read: what a comparator makes of them goes to a free row of `scratch`, and a row
    # of `scratch` that is read for the last time is written over.
    place = list(values.unbind())
    free = list(scratch.unbind())
    ours = [False] * rows
    for low, high, want_smaller, want_larger in selection_network(rows, tuple(sorted(set(ranks)))):
        first, second = place[low], place[high]
        if want_smaller and want_larger:
            place[low] = torch.minimum(first, second, out=free.pop())
            place[high] = torch.maximum(first, second, out=second if ours[high] else free.pop())
            if ours[low]:
                free.append(first)
            ours[low] = ours[high] = True
            continue
        kept, lost = (low, high) if want_smaller else (high, low)
        pick = torch.minimum if want_smaller else torch.maximum
        target = place[kept] if ours[kept] else place[lost] if ours[lost] else free.pop()
        if ours[kept] and ours[lost]:
            free.append(place[lost])
        place[kept] = pick(first, second, out=target)
        ours[kept], ours[lost] = True, False
    return torch.stack([place[rank] for rank in ranks])


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
