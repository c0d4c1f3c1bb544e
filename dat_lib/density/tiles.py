"""Who the k nearest references are, in one tile of the distance pass: a block of queries and a chunk of groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dat_lib.density.distances import Metric, from_squared
from dat_lib.density.selection import Nearest, pieces

if TYPE_CHECKING:
    import torch

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
    """[P, n] whether a reference is one of the k nearest."""
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
        [g, n, b] |r|^2 - 2<q, r>, in units of the largest |r|; infinite where there is no reference.
    nearest
        What was selected from `values`.
    squares
        [b] |q|^2, float64, in the same unit.
    scale
        The unit of length.
    metric
        What `distance` measures.
    """

    def __init__(
        self,
        ks: Sequence[int],
        groups: slice,
        queries: slice,
        values: torch.Tensor,
        nearest: Nearest,
        squares: torch.Tensor,
        scale: float,
        metric: Metric,
    ) -> None:
        import torch

        self.ks, self.groups, self.queries = ks, groups, queries
        self._metric, self._values, self._kth = metric, values, nearest.kth
        squared = nearest.kth + squares
        self._rounding = ROUNDING * torch.finfo(values.dtype).eps * (1 + 2 * squares.sqrt())
        clear = (nearest.following - nearest.kth > 2 * self._rounding.to(values.dtype)).logical_and_(
            squared > DISTINCT * self._rounding
        )
        self.doubtful = torch.nonzero(~clear[..., : queries.stop - queries.start])
        """[P, 3] positions of k, group and query, which rounding does not let this tile decide."""
        self.distance = from_squared(squared.clamp_min_(0).mul_(scale**2), metric)
        """[len(ks), g, b] float64, to the k-th nearest."""
        self.weight = nearest.weight
        """[len(ks), g, b] the sum of the weights of the k nearest, where references have weights."""

    def pieces(self) -> Iterator[tuple[slice, slice]]:
        """The groups of the tile a few at a time, counted from the first of the tile and from the first of all."""
        for some in pieces(self._values):
            yield some, slice(self.groups.start + some.start, self.groups.start + some.stop)

    def members(self, which: int, piece: slice) -> torch.Tensor:
        """[n, g', b] whether a reference is one of the k nearest."""
        return (self._values[piece] <= self._kth[which, piece, None]).movedim(1, 0)

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
        values, threshold = self._values[group, :, query], self._kth[which, group, query][:, None]
        squared = torch.where(values < threshold, -math.inf, math.inf).double()
        in_question = (values - threshold).abs_() <= 2 * self._rounding[query][:, None]
        pair, slot = torch.nonzero(in_question, as_tuple=True)
        squared[pair, slot] = measure(slot, group[pair], query[pair])
        nearest, order = squared.sort(dim=1, stable=True)
        k = torch.tensor(self.ks, device=which.device)[which][:, None]
        ranks = torch.arange(order.shape[1], device=which.device)
        return Pairs(
            which,
            self.groups.start + group,
            self.queries.start + query,
            torch.empty_like(in_question).scatter_(1, order, ranks < k),
            from_squared(nearest.gather(1, k - 1)[:, 0], self._metric),
        )
