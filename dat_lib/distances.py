"""Distances inside one set of references, each reference left out of its own neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

CLOSE = 1e-4
"""Pairs with a squared distance below this share of their squared norms are measured directly."""
PAIRS_AT_ONCE = 1024
MULTIPLE = 48
"""Products are padded to whole multiples, for which they do not depend on how many rows are made at once."""


def nearest_others(vectors: torch.Tensor, k: int, *, working_bytes: float) -> torch.Tensor:
    """[n, k] float64: distances of each of the vectors [n, d] to its k nearest others, ascending, k < n."""
    import torch

    count = len(vectors)
    vectors = vectors.double()
    centred = torch.nn.functional.pad(vectors - vectors.mean(dim=0), (0, 0, 0, -count % MULTIPLE))
    squares = centred.square().sum(dim=1)
    step = max(1, int(working_bytes / (40 * MULTIPLE * len(centred)))) * MULTIPLE
    result = []
    for start in range(0, len(centred), step):
        rows = slice(start, min(start + step, len(centred)))
        sums = squares[rows, None] + squares
        squared = torch.addmm(sums, centred[rows], centred.T, alpha=-2)[: count - start, :count]
        # The difference of nearly equal squares cancels, so close pairs are measured coordinate by coordinate.
        for close in torch.split(torch.nonzero(squared < CLOSE * sums[: count - start, :count]), PAIRS_AT_ONCE):
            row, column = close.T
            squared[row, column] = (vectors[start + row] - vectors[column]).square().sum(dim=1)
        squared.diagonal(start).fill_(math.inf)
        result.append(torch.topk(squared, k, dim=1, largest=False, sorted=True).values.sqrt())
    return torch.cat(result)
