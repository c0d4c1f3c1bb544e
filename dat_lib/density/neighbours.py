"""Nearest references of each query in each of many groups: one blocked distance pass for all groups and every k.

A tile is one matrix product of some groups with a block of queries, then order statistics down each column. Where
rounding leaves in doubt who is the k-th neighbour, or how far it is, the references in question are measured again
from differences in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.arrays import FloatArray, IntArray
from dat_lib.choices import Metric
from dat_lib.density.products import COLUMNS, multiply, round_up
from dat_lib.density.selection import LARGEST_NETWORK
from dat_lib.density.threads import in_threads
from dat_lib.density.tiles import Neighbourhoods, Tile

if TYPE_CHECKING:
    import torch

TILE_PAIRS = 32_768
"""Pairs of query and group in a tile: what fits the processor's cache."""
TILE_GROUPS = 128
WIDE = 64
"""From this dimension on float32 vectors are multiplied in float32; below, float64 costs next to nothing."""
ROWS_AT_ONCE = 1024
"""Vectors widened to float64 at once."""


class GroupNeighbours:
    """References of G groups, laid out so that one product serves many groups.

    Parameters
    ----------
    groups
        G arrays [n_g, d]; sizes may differ.
    metric
        "euclidean", or "cosine" for references and queries of unit length.
    device
        A torch device, for example "cpu" or "cuda".
    working_memory
        MiB of temporary arrays, beside the references and the result; at least what `COLUMNS` queries and
        the groups of a tile need in each thread.
    """

    def __init__(
        self,
        groups: Sequence[FloatArray],
        *,
        metric: Metric = "euclidean",
        device: str = "cpu",
        working_memory: float = 256,
    ) -> None:
        import torch

        if not working_memory > 0:
            raise ValueError(f"working_memory must be positive, not {working_memory}")
        self.sizes: list[int] = [len(group) for group in groups]
        self.vectors = torch.from_numpy(np.concatenate(groups)).to(device)
        """[R, d] all references in the order of the groups."""
        self.metric = metric
        self.bytes = working_memory * 2**20
        self._starts: IntArray = np.cumsum([0, *self.sizes])
        self._largest = max(self.sizes)
        narrow = self.vectors.dtype == torch.float64 or self.vectors.shape[1] < WIDE
        self._dtype = torch.float64 if narrow else torch.float32
        # Distances do not change when all is moved to the middle of the references, and products round less there.
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
        *,
        same: tuple[IntArray, IntArray] | None = None,
    ) -> None:
        """Find the k < n_g nearest references of queries [N, d] in every group, tile by tile, in several threads.

        All neighbourhoods of a tile are handed to `take`, then once more those that rounding had left in doubt.

        `same` lists pairs (query row, reference row) that are one sample: that reference is no neighbour of the query.
        """
        import torch

        workers = torch.get_num_threads() if self.vectors.device.type == "cpu" else 1
        widest = max(chunk.stop - chunk.start for chunk in self._chunks)
        width = self._width(widest, len(ks), math.ceil(len(queries) / workers), workers)
        blocks = [slice(start, min(start + width, len(queries))) for start in range(0, len(queries), width)]

        def work(tiles: Iterable[int]) -> None:
            products = self._tables[0].new_empty(max(map(len, self._tables)) * width)
            at_hand = None
            for position in tiles:
                which_block, which_chunk = divmod(position, len(self._chunks))
                block, chunk, table = blocks[which_block], self._chunks[which_chunk], self._tables[which_chunk]
                if block != at_hand:
                    given = torch.from_numpy(np.ascontiguousarray(queries[block])).to(self.vectors.device)
                    extended, squares = self._extend(given)
                    at_hand = block
                product = products[: len(table) * len(extended)].view(-1, len(extended))
                multiply(table, extended, out=product)
                if same is not None:
                    self._forget(product, same, block, chunk)
                values = product.view(-1, self._largest, len(extended))
                tile = Tile(ks, chunk, block, values, squares, self._scale, self.metric)
                for found in tile.pieces():
                    take(found)
                for some in torch.split(tile.doubtful, self._pairs_at_once(workers)):
                    take(tile.settle(some, self._measure(given, chunk)))

        in_threads(work, range(len(blocks) * len(self._chunks)), threads=workers)

    def slots(self, values: torch.Tensor) -> torch.Tensor:
        """Arrange one value a reference [R] as [G, n]; 0 where a group has fewer references than the largest."""
        import torch

        parts = list(torch.split(values, self.sizes))
        return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)

    def _width(self, groups: int, ks: int, queries: int, workers: int) -> int:
        """Queries in a block, a multiple of COLUMNS."""
        copies = 2 if self._largest <= LARGEST_NETWORK else 4
        a_pair = self._dtype.itemsize * (copies * (self._largest + 1) + 4 * ks) + 48 * ks
        a_query = 3 * self._dtype.itemsize * (self.vectors.shape[1] + 1)
        in_memory = 0.8 * self.bytes / workers / (groups * a_pair + a_query)
        multiples = max(1, int(min(TILE_PAIRS / groups, in_memory) / COLUMNS))
        return min(multiples * COLUMNS, round_up(queries))

    def _pairs_at_once(self, workers: int) -> int:
        return max(1, int(self.bytes / workers / (64 * self._largest)))

    def _lay_out(self, chunks: Iterable[int]) -> None:
        """Tables of chunks of groups: rows (-2 r, |r|^2), group by group; an empty slot is infinitely far away."""
        import torch

        dim = self.vectors.shape[1]
        for position in chunks:
            chunk = self._chunks[position]
            groups = chunk.stop - chunk.start
            table = torch.zeros(self._largest * groups, dim + 1, dtype=self._dtype, device=self.vectors.device)
            table[:, -1] = math.inf
            slots = table.view(groups, self._largest, dim + 1)
            for column, group in enumerate(range(chunk.start, chunk.stop)):
                own = self.vectors[self._starts[group] : self._starts[group + 1]]
                placed = ((own.double() - self._origin) / self._scale).to(self._dtype)
                slots[column, : len(own), :-1] = -2 * placed
                slots[column, : len(own), -1] = placed.double().square().sum(dim=1)
            self._tables[position] = table

    def _extend(self, given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows (q, 1) padded to a multiple of COLUMNS, and |q|^2 in float64."""
        import torch

        width = round_up(len(given))
        extended = torch.zeros(width, given.shape[1] + 1, dtype=self._dtype, device=given.device)
        extended[:, -1] = 1
        squares = torch.zeros(width, dtype=torch.float64, device=given.device)
        for start in range(0, len(given), ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, len(given)))
            placed = given[rows].to(torch.float64, copy=True).sub_(self._origin).div_(self._scale)
            extended[rows, :-1] = placed
            squares[rows] = placed.copy_(extended[rows, :-1]).square_().sum(dim=1)
        return extended, squares

    def _forget(self, product: torch.Tensor, same: tuple[IntArray, IntArray], block: slice, chunk: slice) -> None:
        """Put references that are the query itself infinitely far away."""
        import torch

        query, reference = same
        group = np.searchsorted(self._starts, reference, side="right") - 1
        here = (block.start <= query) & (query < block.stop) & (chunk.start <= group) & (group < chunk.stop)
        slot = reference[here] - self._starts[group[here]]
        row = (group[here] - chunk.start) * self._largest + slot
        product[torch.from_numpy(row), torch.from_numpy(query[here] - block.start)] = math.inf

    def _measure(
        self, given: torch.Tensor, chunk: slice
    ) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]:
        """Squared distances, from float64 differences, of slots of groups of the chunk to queries of the block."""
        import torch

        starts = torch.from_numpy(self._starts[chunk]).to(given.device)

        def measure(slots: torch.Tensor, groups: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
            rows = starts[groups] + slots
            squared = torch.empty(len(rows), dtype=torch.float64, device=rows.device)
            for start in range(0, len(rows), ROWS_AT_ONCE):
                some = slice(start, start + ROWS_AT_ONCE)
                difference = self.vectors[rows[some]].double().sub_(given[queries[some]])
                squared[some] = difference.square_().sum(dim=1)
            return squared

        return measure
