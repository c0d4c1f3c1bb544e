"""SLOF, k-NN distance and DAO as formulas of who the neighbours are.

Each is made from the distances of the references among themselves and turns the neighbourhoods that the distance pass
finds into log densities.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, get_args

from dat_lib.choices import Density, Lid, Metric
from dat_lib.density.tiles import Neighbourhoods

if TYPE_CHECKING:
    import torch

SMALLEST_DISTANCE = 1e-12
"""Floor of the k-distance of a reference, which is 0 where more than k references coincide."""


class OutlierFactor(Protocol):
    """A density that is decided by the neighbours."""

    def log_density(self, found: Neighbourhoods) -> torch.Tensor:
        """log D, one number per neighbourhood, float64. Writes over `found.members`."""


class KnnDistance:
    """D = kd(z)."""

    def log_density(self, found: Neighbourhoods) -> torch.Tensor:
        """log D, one number per neighbourhood."""
        return found.distance.log()


class Slof:
    """D = kd(z) (1/k) sum over the neighbours of 1 / kd(o).

    Parameters
    ----------
    ks
        Neighbourhood sizes.
    k_distances
        [len(ks), G, n] kd(o) of the references.
    """

    def __init__(self, ks: Sequence[int], k_distances: torch.Tensor) -> None:
        self._ks = k_distances.new_tensor(ks)
        self._inverse = 1 / k_distances.clamp_min(SMALLEST_DISTANCE)

    def log_density(self, found: Neighbourhoods) -> torch.Tensor:
        """log D, one number per neighbourhood."""
        inverse = found.of_references(self._inverse).to(found.members.dtype)
        total = _sum_by_halves(found.members.mul_(inverse))
        return (total * found.distance).div_(self._ks[found.which]).log_()


class Dao:
    """D = (1/k) sum over the neighbours of (kd(z) / kd(o)) ** LID(o); parameters as for `Slof`.

    `dimensions` [len(ks), G, n] are the LID(o). Powers reach hundreds, so the sum is made of logarithms.
    """

    def __init__(self, ks: Sequence[int], k_distances: torch.Tensor, dimensions: torch.Tensor) -> None:
        self._log_ks = k_distances.new_tensor(ks).log()
        self._log_k_distances = k_distances.clamp_min(SMALLEST_DISTANCE).log()
        self._dimensions = dimensions

    def log_density(self, found: Neighbourhoods) -> torch.Tensor:
        """log D, one number per neighbourhood."""
        ratios = found.distance.log() - found.of_references(self._log_k_distances)
        powers = ratios.mul_(found.of_references(self._dimensions)).masked_fill_(found.members == 0, -math.inf)
        largest = powers.amax(dim=0).clamp_min_(-sys.float_info.max)
        return _sum_by_halves(powers.sub_(largest).exp_()).log_().add_(largest).sub_(self._log_ks[found.which])


def _sum_by_halves(terms: torch.Tensor) -> torch.Tensor:
    """Sum over the first axis, written over `terms`: the second half is added to the first until one term is left.

    So the bits depend on the number of terms alone; no library's sum or product grants for every processor that what is
    summed beside them makes no difference.
    """
    count = len(terms)
    while count > 1:
        half = count // 2
        terms[:half] += terms[count - half : count]
        count -= half
    return terms[0]


def check_density(density: str, lid: str, metric: str) -> None:
    """Refuse names that are not known."""
    for name, value, known in (
        ("density", density, get_args(Density)),
        ("lid", lid, get_args(Lid)),
        ("metric", metric, get_args(Metric)),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")


def check_neighbours(ks: Sequence[int], density: str) -> tuple[int, ...]:
    """Neighbourhood sizes as integers, each large enough for the density."""
    least = 2 if density == "dao" else 1
    sizes = tuple(operator.index(k) for k in ks)
    if not sizes:
        raise ValueError("there is no k")
    if min(sizes) < least:
        raise ValueError(f"k must be at least {least} for {density}, not {min(sizes)}")
    return sizes
