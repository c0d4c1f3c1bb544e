"""Who the k nearest references are, in one tile of the distance pass: a block of queries and a chunk of groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dat_lib.distances import Metric, from_squared
from dat_lib.selection import order_statistics

if TYPE_CHECKING:
    import torch

PIECE_PAIRS = 8192
"""Pairs of query and group whose members are listed at once: what fits a core's cache."""
ROUNDING = 8.0
"""Bound of the rounding of |r|^2 - 2<q, r>, in units of epsilon (|r|^2 + 2 |q| |r|); less than half was measured."""
DISTINCT = 2e4
"""A squared k-distance above so many bounds is taken from the product as it is."""


@dataclass(frozen=True)
class Pairs:
    """P pairs of query and group whose neighbours were in doubt, measured anew."""

    which: torch.Tensor
    """[P] positions in the list of k."""
    groups: torch.Tensor
    """[P]"""
    queries: torch.Tensor
    """[P]"""
    members: torch.Tensor
    """[P, n] 1 where a reference is one of the k nearest, else 0."""
    distance: torch.Tensor
    """[P] float64, to the k-th nearest."""


class Tile:
    """The k nearest of at most n references in each of g groups, of a block of queries padded to b, for every k.

    Parameters
    ----------
    ks
        Neighbourhood sizes, each smaller than any group.
    groups, queries
        Which groups and which queries; those past the end of the block are padding.
    values
        [n, g, b] |r|^2 - 2<q, r>, in units of the largest |r|; infinite where there is no reference.
    squares
        [b] |q|^2, float64, in the same unit.
    scale
        The unit of length.
    metric
        What `distance` measures.
    scratch
        Working space of more than n g b numbers of the dtype of `values`.
    """

    def __init__(
        self,
        ks: Sequence[int],
        groups: slice,
        queries: slice,
        values: torch.Tensor,
        squares: torch.Tensor,
        scale: float,
        metric: Metric,
        scratch: torch.Tensor,
    ) -> None:
        import torch

        self.ks, self.groups, self.queries = ks, groups, queries
        self._metric, self._values, self._scratch = metric, values, scratch
        n, count, width = values.shape
        ranks = [*(k - 1 for k in ks), *ks]
        space = scratch[: (n + 1) * count * width].view(n + 1, -1)
        statistics = order_statistics(values.view(n, -1), ranks, space).view(-1, count, width)
        self._kth, following = torch.split(statistics, len(ks))
        squared = self._kth + squares
        self._rounding = ROUNDING * torch.finfo(values.dtype).eps * (1 + 2 * squares.sqrt())
        clear = (following - self._kth > 2 * self._rounding.to(following.dtype)).logical_and_(
            squared > DISTINCT * self._rounding
        )
        self.doubtful = torch.nonzero(~clear[..., : queries.stop - queries.start])
        """[P, 3] positions of k, group and query, which rounding does not let this tile decide."""
        self.distance = from_squared(squared.clamp_min_(0).mul_(scale**2), metric)
        """[len(ks), g, b] float64, to the k-th nearest."""

    def pieces(self) -> Iterator[tuple[slice, slice]]:
        """The groups of the tile a few at a time, counted from the first of the tile and from the first of all."""
        count, width = self._values.shape[1:]
        step = max(1, PIECE_PAIRS // width)
        for first in range(0, count, step):
            last = min(first + step, count)
            yield slice(first, last), slice(self.groups.start + first, self.groups.start + last)

    def members(self, which: int, piece: slice) -> torch.Tensor:
        """[n, g', b] 1 where a reference is one of the k nearest, else 0; written over by the next call."""
        import torch

        values = self._values[:, piece]
        return torch.le(values, self._kth[which, piece], out=self._scratch[: values.numel()].view(values.shape))

    def settle(
        self,
        doubtful: torch.Tensor,
        measure: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> Pairs:
        """Decide some of the doubtful pairs; of references equally far the first counts.

        `measure(slots, groups, queries)` gives exact squared distances. The true k-th value lies within the
        rounding bound of the computed one, so that only references within twice the bound are in question.
        """
        import torch

        which, group, query = doubtful.T
        values, threshold = self._values[:, group, query], self._kth[which, group, query]
        squared = torch.where(values < threshold, -math.inf, math.inf).double()
        slot, pair = torch.nonzero((values - threshold).abs() <= 2 * self._rounding[query], as_tuple=True)
        squared[slot, pair] = measure(slot, group[pair], query[pair])
        nearest, order = squared.sort(dim=0, stable=True)
        k = torch.tensor(self.ks, device=which.device)[which]
        ranks = torch.empty_like(order)
        ranks.scatter_(0, order, torch.arange(len(order), device=which.device)[:, None].expand_as(order))
        return Pairs(
            which,
            self.groups.start + group,
            self.queries.start + query,
            (ranks < k).T.to(values.dtype),
            from_squared(nearest.gather(0, k[None] - 1)[0], self._metric),
        )
