"""Local intrinsic dimension, from the distances to the nearest neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dat_lib.choices import Lid

if TYPE_CHECKING:
    import torch

LARGEST_DIMENSION = 1e6
"""Cap of an estimate, which is infinite where all neighbours are equally far."""


def local_dimension(distances: torch.Tensor, lid: Lid) -> torch.Tensor:
    """Local intrinsic dimension [R] from the distances r_1 <= .. <= r_k of each point to its neighbours [R, k].

    - "mle" (Levina and Bickel): the inverse of the mean of ln(r_k / r_j) over j < k;
    - "mom" (method of moments, as in ELKI): mu / (r_k - mu), mu the mean of r_j over j < k;
    - "mom_all": the same with mu over j <= k.

    Distances of 0 (duplicates) are left out of the means; where none is left the dimension is 1.
    """
    import torch

    largest = distances[:, -1:]
    used = distances if lid == "mom_all" else distances[:, :-1]
    positive = used > 0
    count = positive.sum(dim=1)
    if lid == "mle":
        dimension = count / torch.where(positive, torch.log(largest / used), 0.0).sum(dim=1)
    else:
        mean = torch.where(positive, used, 0.0).sum(dim=1) / count
        dimension = mean / (largest[:, 0] - mean).clamp_min(0)
    return torch.where(count > 0, dimension, 1.0).clamp_max(LARGEST_DIMENSION)
