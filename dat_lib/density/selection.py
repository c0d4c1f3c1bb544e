"""The k nearest in each column of many small tables, by operations of torch on whole rows.

Sorting each column by itself costs microseconds a column. The comparators of a network are one `minimum` and one
`maximum` of two rows each, which run at the speed of the cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dat_lib.density.networks import selection_network
from dat_lib.density.sums import sum_by_halves

if TYPE_CHECKING:
    import torch

LARGEST_NETWORK = 256
"""Above so many rows a network compares too much, and columns are sorted one by one."""
PIECE_COLUMNS = 8192
"""Columns whose weights are summed at once: what fits a core's cache."""


class Nearest(NamedTuple):
    """What is told of the k smallest values in each column of g tables, for every k."""

    kth: torch.Tensor
    """[len(ks), g, b] the largest of them."""
    following: torch.Tensor
    """[len(ks), g, b] the smallest of the others."""
    weight: torch.Tensor | None
    """[len(ks), g, b] the sum of the weights of all rows with a value up to the k-th, where rows have weights."""


class Selection(Protocol):
    """Finds the k smallest for sizes k that it was made for."""

    def __call__(self, values: torch.Tensor, weights: torch.Tensor | None) -> Nearest:
        """Select in each column of values [g, n, b]; weights [g, len(ks), n] are those of the rows for each k."""


class RowSelection:
    """Selection in tables of any size on any device; `ks` are smaller than the number of rows.

    It keeps its working space from call to call, so that each thread needs one of its own.
    """

    def __init__(self, ks: Sequence[int]) -> None:
        self._ks = tuple(ks)
        self._ranks = [*(k - 1 for k in ks), *ks]
        self._space: torch.Tensor | None = None

    def __call__(self, values: torch.Tensor, weights: torch.Tensor | None) -> Nearest:
        """Select in each column of values [g, n, b]."""
        import torch

        tables, rows, columns = values.shape
        if self._space is None or self._space.numel() < tables * (rows + 1) * columns:
            self._space = values.new_empty(tables * (rows + 1) * columns)
        ordered = self._sorted if rows > LARGEST_NETWORK else self._network
        kth, following = torch.split(ordered(values), len(self._ks))
        return Nearest(kth, following, None if weights is None else self._weigh(values, kth, weights))

    def _sorted(self, values: torch.Tensor) -> torch.Tensor:
        import torch

        columns = values.transpose(1, 2).contiguous()
        smallest = torch.topk(columns, max(self._ranks) + 1, dim=2, largest=False, sorted=True).values
        return smallest[..., self._ranks].movedim(2, 0).contiguous()

    def _network(self, values: torch.Tensor) -> torch.Tensor:
        import torch

        tables, rows, columns = values.shape
        # Rows of `values` are only read: what a comparator makes of them goes to a free row of the working space,
        # and a row of that which is read for the last time is written over.
        place = list(values.unbind(1))
        free = list(self._scratch(rows + 1, tables, columns).unbind())
        ours = [False] * rows
        for low, high, want_smaller, want_larger in selection_network(rows, tuple(sorted(set(self._ranks)))):
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
        return torch.stack([place[rank] for rank in self._ranks])

    def _weigh(self, values: torch.Tensor, kth: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        import torch

        total = torch.empty_like(kth)
        for some in pieces(values):
            for which in range(len(self._ks)):
                chosen = torch.le(values[some], kth[which, some, None], out=self._scratch(*values[some].shape))
                total[which, some] = sum_by_halves(chosen.mul_(weights[some, which, :, None]).movedim(1, 0))
        return total

    def _scratch(self, *shape: int) -> torch.Tensor:
        """Working space of the shape, which the next call takes over."""
        assert self._space is not None
        return self._space[: math.prod(shape)].view(shape)


def pieces(values: torch.Tensor) -> list[slice]:
    """The tables of values [g, n, b] a few at a time."""
    tables, _, columns = values.shape
    step = max(1, PIECE_COLUMNS // columns)
    return [slice(first, min(first + step, tables)) for first in range(0, tables, step)]
