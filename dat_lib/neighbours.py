"""Nearest references of each query in each of many groups: one blocked distance pass for all groups and every k.

A tile is one matrix product of some groups with a block of queries, then order statistics down each column. Where
rounding leaves in doubt who is the k-th neighbour, or how far it is, the references in question are measured again
from differences in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.arrays import FloatArray, IntArray
from dat_lib.selection import LARGEST_NETWORK, order_statistics
from dat_lib.threads import in_threads

if TYPE_CHECKING:
    import torch

QUERY_MULTIPLE = 48
ROW_MULTIPLE = 8
"""Products are padded to whole multiples, for which the libraries treat every column alike: what a query gets does
not depend on the block it came in."""
TILE_PAIRS = 32_768
"""Pairs of query and group in a tile, and below, in a piece of it: what fits the processor's caches."""
PIECE_PAIRS = 8_192
TILE_GROUPS = 128
WIDE = 64
"""From this dimension on float32 vectors are multiplied in float32; below, float64 costs next to nothing."""
ROUNDING = 8.0
"""Bound of the rounding of |r|^2 - 2<q, r>, in units of epsilon (|r|^2 + 2 |q| |r|); less than half was measured."""
DISTINCT = 2e4
"""A squared k-distance above so many bounds is taken from the product as it is."""
ROWS_AT_ONCE = 1024
"""Vectors widened to float64 at once."""


@dataclass(frozen=True)
class Neighbourhoods:
    """The k nearest references of queries in each of g groups; `members` is written over by what comes next."""

    k: int
    groups: slice | torch.Tensor
    queries: slice | torch.Tensor
    """Which pairs these are. Two slices: all of them, in blocks that may end in padding, so that b is the number of
    queries or more. Two tensors [g]: the pairs one by one, and b is 1."""
    members: torch.Tensor
    """[n, g, b] 1 where a reference is one of the k nearest, else 0."""
    log_distance: torch.Tensor
    """[g, b] float64, the logarithm of the Euclidean distance to the k-th nearest."""


class GroupNeighbours:
    """References of G groups, laid out so that one product serves many groups.

    Parameters
    ----------
    groups
        G arrays [n_g, d]; sizes may differ.
    device
        A torch device, for example "cpu" or "cuda".
    working_memory
        MiB of temporary arrays, beside the references, a query block and the result; at least what 48 queries
        and one group need.
    """

    def __init__(self, groups: Sequence[FloatArray], *, device: str = "cpu", working_memory: float = 256) -> None:
        import torch

        if not working_memory > 0:
            raise ValueError(f"working_memory must be positive, not {working_memory}")
        self.sizes: list[int] = [len(group) for group in groups]
        self.vectors = torch.from_numpy(np.concatenate(groups)).to(device)
        """[R, d] all references in the order of the groups."""
        self.starts: IntArray = np.cumsum([0, *self.sizes])
        self.bytes = working_memory * 2**20
        self._largest = max(self.sizes)
        dim = self.vectors.shape[1]
        narrow = self.vectors.dtype == torch.float64 or dim < WIDE
        self._dtype = torch.float64 if narrow else torch.float32
        parts = torch.split(self.vectors, ROWS_AT_ONCE)
        self._origin = torch.stack([part.sum(dim=0, dtype=torch.float64) for part in parts]).sum(dim=0)
        self._origin /= len(self.vectors)
        largest = max(float((part.double() - self._origin).square().sum(dim=1).max()) for part in parts)
        self._scale = math.sqrt(largest) or 1.0
        self._chunks = [
            slice(int(part[0]), int(part[-1]) + 1)
            for part in np.array_split(np.arange(len(groups)), math.ceil(len(groups) / TILE_GROUPS))
        ]
        self._tables = [self.vectors] * len(self._chunks)
        in_threads(self._lay_out, range(len(self._chunks)))

    def visit(
        self,
        queries: FloatArray,
        ks: Sequence[int],
        take: Callable[[Neighbourhoods], None],
        same: tuple[IntArray, IntArray] | None = None,
    ) -> None:
        """Hand the neighbourhoods of queries [N, d] in every group, for every k < n_g, to `take`, piece by piece.

        Pieces come from several threads. Pairs that had to be measured anew come again after their piece: the
        later result counts. `same` lists pairs (query row, reference row) that are one sample: that reference is
        no neighbour of the query.
        """
        import torch

        workers = torch.get_num_threads() if self.vectors.device.type == "cpu" else 1
        widest = max(chunk.stop - chunk.start for chunk in self._chunks)
        width = self._width(widest, len(ks), math.ceil(len(queries) / workers), workers)
        starts = range(0, len(queries), width)
        ranks = sorted({rank for k in ks for rank in (k - 1, k)})

        def work(mine: Sequence[int]) -> None:
            products = self._tables[0].new_empty(max(map(len, self._tables)) * width)
            scratch = self._tables[0].new_empty((self._largest + 1) * widest * width)
            for start in mine:
                block = slice(start, min(start + width, len(queries)))
                given = torch.from_numpy(np.ascontiguousarray(queries[block])).to(self.vectors.device)
                extended, squares = self._extend(given, width)
                for chunk, table in zip(self._chunks, self._tables, strict=True):
                    groups = chunk.stop - chunk.start
                    product = torch.mm(table, extended.T, out=products[: len(table) * width].view(-1, width))
                    if same is not None:
                        self._forget(product, same, block, chunk)
                    values = product[: self._largest * groups].view(self._largest, groups * width)
                    space = scratch[: (self._largest + 1) * groups * width].view(-1, groups * width)
                    statistics = order_statistics(values, ranks, space)
                    values = values.view(-1, groups, width)
                    tile = _Tile(self, given, squares, block, chunk, values, scratch, statistics)
                    for k in ks:
                        for found in tile.neighbourhoods(k):
                            take(found)

        in_threads(work, [starts[worker::workers] for worker in range(min(workers, len(starts)))])

    def slots(self, values: torch.Tensor) -> torch.Tensor:
        """Arrange one value a reference [R] as [n, G], like `members`; 0 where a group has fewer references."""
        import torch

        parts = torch.split(values, self.sizes)
        return torch.nn.utils.rnn.pad_sequence(list(parts))

    def rounding(self, squares: torch.Tensor) -> torch.Tensor:
        """Bound of the rounding of a product, for queries with squared norms [b]."""
        import torch

        return ROUNDING * torch.finfo(self._dtype).eps * (1 + 2 * squares.sqrt())

    @property
    def log_scale(self) -> float:
        """Logarithm of the unit of length in which products are made."""
        return math.log(self._scale)

    def _width(self, groups: int, ks: int, queries: int, workers: int) -> int:
        """Queries in a block, a multiple of QUERY_MULTIPLE."""
        rows = (2 if self._largest <= LARGEST_NETWORK else 4) * (self._largest + 1) + 4 * ks
        pairs = min(TILE_PAIRS, self.bytes / workers / (self._dtype.itemsize * rows + 64))
        multiples = max(1, int(pairs / groups / QUERY_MULTIPLE))
        return min(multiples, math.ceil(queries / QUERY_MULTIPLE)) * QUERY_MULTIPLE

    def _lay_out(self, position: int) -> None:
        """Table of a chunk of groups: rows (-2 r, |r|^2), slot by slot; an empty slot is infinitely far away."""
        import torch

        chunk = self._chunks[position]
        groups, dim = chunk.stop - chunk.start, self.vectors.shape[1]
        rows = math.ceil(self._largest * groups / ROW_MULTIPLE) * ROW_MULTIPLE
        table = torch.zeros(rows, dim + 1, dtype=self._dtype, device=self.vectors.device)
        table[:, -1] = math.inf
        slots = table[: self._largest * groups].view(self._largest, groups, dim + 1)
        for column, group in enumerate(range(chunk.start, chunk.stop)):
            own = self.vectors[self.starts[group] : self.starts[group + 1]]
            placed = ((own.double() - self._origin) / self._scale).to(self._dtype)
            slots[: len(own), column, :-1] = -2 * placed
            slots[: len(own), column, -1] = placed.double().square().sum(dim=1)
        self._tables[position] = table

    def _extend(self, given: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows (q, 1) padded to `width`, and |q|^2 in float64."""
        import torch

        extended = torch.zeros(width, given.shape[1] + 1, dtype=self._dtype, device=given.device)
        extended[:, -1] = 1
        squares = torch.zeros(width, dtype=torch.float64, device=given.device)
        for start in range(0, len(given), ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, len(given)))
            placed = ((given[rows].double() - self._origin) / self._scale).to(self._dtype)
            extended[rows, :-1] = placed
            squares[rows] = placed.double().square().sum(dim=1)
        return extended, squares

    def _forget(self, product: torch.Tensor, same: tuple[IntArray, IntArray], block: slice, chunk: slice) -> None:
        """Put references that are the query itself infinitely far away."""
        import torch

        query, reference = same
        group = np.searchsorted(self.starts, reference, side="right") - 1
        here = (block.start <= query) & (query < block.stop) & (chunk.start <= group) & (group < chunk.stop)
        slot = reference[here] - self.starts[group[here]]
        row = slot * (chunk.stop - chunk.start) + group[here] - chunk.start
        product[torch.from_numpy(row), torch.from_numpy(query[here] - block.start)] = math.inf


@dataclass(frozen=True)
class _Tile:
    """Products of a block of queries with a chunk of groups, and their order statistics."""

    references: GroupNeighbours
    given: torch.Tensor
    squares: torch.Tensor
    block: slice
    chunk: slice
    values: torch.Tensor
    """[n, g, width] |r|^2 - 2<q, r>"""
    scratch: torch.Tensor
    statistics: dict[int, torch.Tensor]

    def neighbourhoods(self, k: int) -> Iterator[Neighbourhoods]:
        import torch

        n, groups, width = self.values.shape
        kth, following = (self.statistics[rank].view(groups, width) for rank in (k - 1, k))
        squared = kth.double() + self.squares
        log_distance = 0.5 * torch.log(squared.clamp_min(0)) + self.references.log_scale
        step = max(1, PIECE_PAIRS // width)
        for first in range(0, groups, step):
            some = slice(first, min(first + step, groups))
            values = self.values[:, some]
            members = torch.le(values, kth[some], out=self.scratch[: values.numel()].view(values.shape))
            which = slice(self.chunk.start + some.start, self.chunk.start + some.stop)
            yield Neighbourhoods(k, which, self.block, members, log_distance[some])
        rounding = self.references.rounding(self.squares)
        clear = (following - kth > 2 * rounding.to(kth.dtype)) & (squared > DISTINCT * rounding)
        doubtful = torch.nonzero(~clear[:, : len(self.given)])
        for pairs in torch.split(doubtful, max(1, int(self.references.bytes / (128 * n)))):
            if len(pairs):
                yield self._settle(k, pairs, kth, rounding)

    def _settle(self, k: int, pairs: torch.Tensor, kth: torch.Tensor, rounding: torch.Tensor) -> Neighbourhoods:
        """Decide pairs (group, query) from float64 differences; of equal distances the first reference counts.

        The true k-th value lies within the rounding bound of the computed one, so that only references within
        twice the bound are in question.
        """
        import torch

        group, query = pairs.T
        values, threshold = self.values[:, group, query], kth[group, query]
        squared = torch.where(values < threshold, -math.inf, math.inf).double()
        slot, pair = torch.nonzero((values - threshold).abs() <= 2 * rounding[query], as_tuple=True)
        starts = torch.from_numpy(self.references.starts[self.chunk]).to(group.device)
        for some in torch.split(torch.arange(len(slot), device=group.device), ROWS_AT_ONCE):
            h, p = slot[some], pair[some]
            reference = self.references.vectors[starts[group[p]] + h].double()
            squared[h, p] = (reference - self.given[query[p]].double()).square().sum(dim=1)
        distances, order = squared.sort(dim=0, stable=True)
        members = torch.zeros_like(values).scatter_(0, order[:k], 1)
        return Neighbourhoods(
            k,
            self.chunk.start + group,
            self.block.start + query,
            members[..., None],
            0.5 * torch.log(distances[k - 1])[:, None],
        )
