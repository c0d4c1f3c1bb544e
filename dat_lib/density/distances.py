"""Metrics, and distances inside one set of references, each reference left out of its own neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dat_lib.choices import Metric
from dat_lib.density.products import COLUMNS, multiply

if TYPE_CHECKING:
    import torch

CLOSE = 1e-4
"""Pairs with a squared distance below this share of their squared norms are measured directly."""
PAIRS_AT_ONCE = 1024
ALIGNED_ROWS = 8
"""Rows of float64 that end where memory is aligned, whatever their dimension."""
LARGEST_TABLE = 2**21
"""Pairs of references whose distances are at hand at a time, for 40 bytes each."""


def from_squared(squared: torch.Tensor, metric: Metric) -> torch.Tensor:
    """Distances from squared Euclidean ones (of unit vectors, for the cosine metric), in place."""
    return squared.div_(2) if metric == "cosine" else squared.sqrt_()


def nearest_others(vectors: torch.Tensor, k: int, *, metric: Metric) -> torch.Tensor:
    """[n, k] float64: distances of each of the vectors [n, d] to its k nearest others, ascending, k < n."""
    import torch

    count = len(vectors)
    # As many rows at a time as `count` alone says, so that nothing else decides a bit.
    fitting = min(COLUMNS, LARGEST_TABLE // count) // ALIGNED_ROWS * ALIGNED_ROWS
    step = count if count <= COLUMNS else max(ALIGNED_ROWS, fitting)
    vectors = vectors.double()
    centred = torch.nn.functional.pad(vectors - vectors.mean(dim=0), (0, 0, 0, -count % step))
    squares = centred.square().sum(dim=1)
    result = []
    for start in range(0, count, step):
        rows = slice(start, start + step)
        sums = squares[:count, None] + squares[rows]
        squared = multiply(centred[:count], centred[rows], out=torch.empty_like(sums), columns=step)
        squared, sums = (part[:, : count - start].T for part in (squared.mul_(-2).add_(sums), sums))
        # The difference of nearly equal squares cancels, so close pairs are measured coordinate by coordinate.
        for close in torch.split(torch.nonzero(squared < CLOSE * sums), PAIRS_AT_ONCE):
            row, column = close.T
            squared[row, column] = (vectors[start + row] - vectors[column]).square().sum(dim=1)
        squared.diagonal(start).fill_(math.inf)
        result.append(torch.topk(squared, k, dim=1, largest=False, sorted=True).values)
    return from_squared(torch.cat(result), metric)
