"""Order statistics of each column of many small tables, by operations of torch on whole rows.

Sorting each column by itself costs microseconds per column. The comparators of a network are one `minimum` and one
`maximum` of two rows each, which run at the speed of the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dat_lib.density.networks import selection_network

if TYPE_CHECKING:
    import torch

LARGEST_NETWORK = 256
"""Above this number of rows a network compares too much, and columns are sorted one by one."""


def order_statistics(values: torch.Tensor, ranks: Sequence[int]) -> torch.Tensor:
    """[len(ranks), g, b] the value of each rank, 0 for the smallest, in each column of `values` [g, n, b]."""
    import torch

    if values.shape[1] > LARGEST_NETWORK:
        smallest = torch.topk(values.mT.contiguous(), max(ranks) + 1, dim=2, largest=False, sorted=True).values
        return smallest[..., list(ranks)].movedim(2, 0).contiguous()
    rows = list(values.movedim(1, 0).clone(memory_format=torch.contiguous_format).unbind())
    spare = torch.empty_like(rows[0])
    for low, high, want_smaller, want_larger in selection_network(len(rows), tuple(sorted(set(ranks)))):
        first, second = rows[low], rows[high]
        if want_smaller and want_larger:
            rows[low], spare = torch.minimum(first, second, out=spare), first
            torch.maximum(first, second, out=second)
        elif want_smaller:
            torch.minimum(first, second, out=first)
        else:
            torch.maximum(first, second, out=second)
    return torch.stack([rows[rank] for rank in ranks])
