"""Who the k nearest references are, in one tile of the distance pass: a block of queries and a chunk of groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dat_lib.choices import Metric
from dat_lib.density.distances import from_squared
from dat_lib.density.selection import order_statistics

if TYPE_CHECKING:
    import torch

ROUNDING = 8.0
"""Bound of the rounding of |r|^2 - 2<q, r>, in units of epsilon (|r|^2 + 2 |q| |r|); less than half was measured."""
DISTINCT = 2e4
"""A squared k-distance above so many bounds is taken from the product as it is."""
PIECE_PAIRS = 8192
"""Pairs of query and group whose neighbours are at hand at a time: what fits a core's cache."""


@dataclass(frozen=True)
class Neighbourhoods:
    """The k nearest references of pairs of query and group.

    Either of all pairs of some groups with some queries (slices, and [...] below is [g, b]) for one k, or of a list of
    P pairs (tensors, and [...] is [P]), each for a k of its own.
    """

    which: int | torch.Tensor
    """Positions in the list of k."""
    groups: slice | torch.Tensor
    queries: slice | torch.Tensor
    members: torch.Tensor
    """[n, ...] 1 where a reference is one of the k nearest, else 0; in the precision that the search needed."""
    distance: torch.Tensor
    """[...] float64, to the k-th nearest."""

    def of_references(self, table: torch.Tensor) -> torch.Tensor:
        """What a table [len(ks), G, n] says of the references, in the shape of `members` or one that extends to it."""
        own = table[self.which, self.groups].T
        return own if self.members.ndim == own.ndim else own[..., None]


class Tile:
    """The k nearest of at most n references in each of g groups, of a block of queries padded to b, for every k.

    Parameters
    ----------
    ks
        Neighbourhood sizes, each smaller than any group.
    groups, queries
        Which groups and which queries; those past the end of the block are padding.
    values
        [g, n, b] |r|^2 - 2<q, r>, in units of the largest |r|; infinite where there is no reference.
    squares
        [b] |q|^2, float64, in the same unit.
    scale
        The unit of length.
    metric
        What the distances are.
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
    ) -> None:
        import torch

        self._ks, self._groups, self._queries, self._metric = ks, groups, queries, metric
        count = queries.stop - queries.start
        ordered = order_statistics(values, [*(k - 1 for k in ks), *ks])[..., :count]
        self._kth, following = torch.split(ordered, len(ks))
        self._values, squares = values[..., :count], squares[:count]
        squared = self._kth + squares
        self._rounding = ROUNDING * torch.finfo(values.dtype).eps * (1 + 2 * squares.sqrt())
        clear = (following - self._kth > 2 * self._rounding.to(values.dtype)).logical_and_(
            squared > DISTINCT * self._rounding
        )
        self.doubtful = torch.nonzero(~clear)
        """[P, 3] positions of k, group and query, which rounding does not let this tile decide."""
        self._distance = from_squared(squared.clamp_min_(0).mul_(scale**2), metric)

    def pieces(self) -> Iterator[Neighbourhoods]:
        """All neighbourhoods as they were computed, a few groups and one k at a time."""
        import torch

        step = max(1, PIECE_PAIRS // self._values.shape[2])
        for first in range(0, len(self._values), step):
            values = self._values[first : first + step].movedim(1, 0)
            groups = slice(self._groups.start + first, self._groups.start + first + values.shape[1])
            for which in range(len(self._ks)):
                kth, distance = (part[which, first : first + step] for part in (self._kth, self._distance))
                members = torch.le(values, kth, out=torch.empty_like(values))
                yield Neighbourhoods(which, groups, self._queries, members, distance)

    def settle(
        self,
        doubtful: torch.Tensor,
        measure: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> Neighbourhoods:
        """Decide some of the doubtful pairs; of references equally far the first counts.

        `measure(slots, groups, queries)` gives exact squared distances. The true k-th value lies within the
        rounding bound of the computed one, so that only references within twice the bound are in question.
        """
        import torch

        which, group, query = doubtful.T
        values, threshold = self._values[group, :, query], self._kth[which, group, query][:, None]
        squared = torch.where(values < threshold, -math.inf, math.inf).double()
        in_question = (values - threshold).abs_() <= 2 * self._rounding[query][:, None]
        pair, slot = torch.nonzero(in_question, as_tuple=True)
        squared[pair, slot] = measure(slot, group[pair], query[pair])
        nearest, order = squared.sort(dim=1, stable=True)
        k = torch.tensor(self._ks, device=which.device)[which][:, None]
        ranks = torch.arange(order.shape[1], device=which.device)
        return Neighbourhoods(
            which,
            self._groups.start + group,
            self._queries.start + query,
            torch.empty_like(squared).scatter_(1, order, (ranks < k).double()).T,
            from_squared(nearest.gather(1, k - 1)[:, 0], self._metric),
        )
