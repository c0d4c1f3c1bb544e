"""Sums whose bits hang on the number of terms alone, not on what is summed beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def sum_by_halves(terms: torch.Tensor) -> torch.Tensor:
    """Sum over the first axis, written over `terms`: the second half is added to the first until one term is left.

    No library's sum or product grants for every processor that the other axes make no difference.
    """
    count = len(terms)
    while count > 1:
        half = count // 2
        terms[:half] += terms[count - half : count]
        count -= half
    return terms[0]
