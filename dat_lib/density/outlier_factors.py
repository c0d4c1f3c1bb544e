"""SLOF, k-NN distance and DAO as formulas of who the neighbours are: log D for tiles and for single pairs.

Each is made from the distances of the references among themselves and turns the neighbours that the distance pass
finds into log densities, for every k at once.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, get_args

from dat_lib.choices import Density as Density
from dat_lib.density.dimension import Lid
from dat_lib.density.distances import Metric
from dat_lib.density.sums import sum_by_halves
from dat_lib.density.tiles import Pairs, Tile

if TYPE_CHECKING:
    import torch

SMALLEST_DISTANCE = 1e-12
"""Floor of the k-distance of a reference, which is 0 where more than k references coincide."""


class OutlierFactor(Protocol):
    """A density whose logarithm can be told from neighbours."""

    @property
    def weights(self) -> torch.Tensor | None:
        """[G, len(ks), n] numbers of the references, float64, whose sums over the neighbours it goes by."""

    def of_tile(self, tile: Tile) -> torch.Tensor:
        """log D [len(ks), g, b], float64."""

    def of_pairs(self, pairs: Pairs) -> torch.Tensor:
        """log D [P], float64."""


class KnnDistance:
    """D = kd(z)."""

    weights = None

    def of_tile(self, tile: Tile) -> torch.Tensor:
        """log D [len(ks), g, b]."""
        return tile.distance.log()

    def of_pairs(self, pairs: Pairs) -> torch.Tensor:
        """log D [P]."""
        return pairs.distance.log()


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
        self.ks = k_distances.new_tensor(ks)
        self.weights = (1 / k_distances.clamp_min(SMALLEST_DISTANCE)).movedim(0, 1).contiguous()

    def of_tile(self, tile: Tile) -> torch.Tensor:
        """log D [len(ks), g, b]."""
        assert tile.weight is not None
        return (tile.weight * tile.distance).div_(self.ks[:, None, None]).log_()

    def of_pairs(self, pairs: Pairs) -> torch.Tensor:
        """log D [P]."""
        import torch

        total = sum_by_halves((self.weights[pairs.groups, pairs.which] * pairs.members).T)
        return torch.log(total * pairs.distance / self.ks[pairs.which])


class Dao:
    """D = (1/k) sum over the neighbours of (kd(z) / kd(o)) ** LID(o); parameters as for `Slof`.

    `dimensions` [len(ks), G, n] are the LID(o). Powers reach hundreds, so the sum is made of logarithms.
    """

    weights = None

    def __init__(self, ks: Sequence[int], k_distances: torch.Tensor, dimensions: torch.Tensor) -> None:
        self.ks = k_distances.new_tensor(ks)
        self.log_k_distances = k_distances.clamp_min(SMALLEST_DISTANCE).log()
        self.dimensions = dimensions

    def of_tile(self, tile: Tile) -> torch.Tensor:
        """log D [len(ks), g, b]."""
        import torch

        result = tile.distance.log()
        for piece, groups in tile.pieces():
            for which in range(len(self.ks)):
                result[which, piece] = _log_sum_of_powers(
                    result[which, piece],
                    self.log_k_distances[which, groups].T[..., None],
                    self.dimensions[which, groups].T[..., None],
                    tile.members(which, piece),
                )
        return result.sub_(torch.log(self.ks)[:, None, None])

    def of_pairs(self, pairs: Pairs) -> torch.Tensor:
        """log D [P]."""
        import torch

        total = _log_sum_of_powers(
            pairs.distance.log(),
            self.log_k_distances[pairs.which, pairs.groups].T,
            self.dimensions[pairs.which, pairs.groups].T,
            pairs.members.T,
        )
        return total - torch.log(self.ks[pairs.which])


def _log_sum_of_powers(
    log_distance: torch.Tensor, log_k_distance: torch.Tensor, dimension: torch.Tensor, members: torch.Tensor
) -> torch.Tensor:
    """log of the sum over members [n, ...] of (kd(z) / kd(o)) ** LID(o)."""
    powers = dimension * (log_distance - log_k_distance)
    powers.masked_fill_(~members, -math.inf)
    largest = powers.amax(dim=0).clamp_min_(-sys.float_info.max)
    return sum_by_halves(powers.sub_(largest).exp_()).log_().add_(largest)


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
