"""How sparse a reference set is around a query: SLOF, k-NN distance and DAO. Larger values mean sparser.

All work on logarithms, since a density raised to a strength of 10 spans more than any float holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, IdArray, IntArray, as_ids, as_vectors, matching_ids, normalise
from dat_lib.choices import Density, Lid, Metric
from dat_lib.density.dimension import local_dimension
from dat_lib.density.distances import nearest_others
from dat_lib.density.neighbours import GroupNeighbours
from dat_lib.density.outlier_factors import Dao, KnnDistance, OutlierFactor, Slof, check_density, check_neighbours
from dat_lib.density.threads import in_threads
from dat_lib.density.tiles import Neighbourhoods

if TYPE_CHECKING:
    import torch


def slof(
    queries: npt.ArrayLike,
    references: npt.ArrayLike,
    k: int,
    *,
    metric: Metric = "euclidean",
    query_ids: npt.ArrayLike | None = None,
    reference_ids: npt.ArrayLike | None = None,
    device: str = "cpu",
    working_memory: float = 256,
) -> FloatArray:
    """Simplified local outlier factor of queries [N, d] in references [n, d]: [N].

    D(z) = (1/k) sum over o in NN_k(z) of kd(z) / kd(o), where kd(z) is the distance of z to its k-th neighbour in
    the references and kd(o) that of a reference to its k-th neighbour among the others, at least 1e-12. About 1
    inside a cloud of even density, 0 where k references coincide with the query. Equal distances go to the
    reference that comes first.

    Parameters
    ----------
    metric
        "euclidean" on the rows as given, or "cosine": 1 - cosine, half the squared distance of unit vectors.
    query_ids, reference_ids
        Sample ids [N] and [n]. A reference with the id of the query is not among its neighbours.
    working_memory
        MiB of temporary arrays, whatever N is.

    Examples
    --------
    >>> slof([[0.5]], [[0.0], [1.0], [2.0], [3.0]], k=2)
    array([0.375])
    """
    return _one_group("slof", queries, references, k, "mle", metric, query_ids, reference_ids, device, working_memory)


def knn_distance(
    queries: npt.ArrayLike,
    references: npt.ArrayLike,
    k: int,
    *,
    metric: Metric = "euclidean",
    query_ids: npt.ArrayLike | None = None,
    reference_ids: npt.ArrayLike | None = None,
    device: str = "cpu",
    working_memory: float = 256,
) -> FloatArray:
    """Distance of each query [N, d] to its k-th neighbour in references [n, d]: [N]. Parameters as in `slof`."""
    return _one_group("knn", queries, references, k, "mle", metric, query_ids, reference_ids, device, working_memory)


def dao(
    queries: npt.ArrayLike,
    references: npt.ArrayLike,
    k: int,
    lid: Lid = "mle",
    *,
    metric: Metric = "euclidean",
    query_ids: npt.ArrayLike | None = None,
    reference_ids: npt.ArrayLike | None = None,
    device: str = "cpu",
    working_memory: float = 256,
) -> FloatArray:
    """Dimensionality-aware outlier score of queries [N, d] in references [n, d]: [N]. Other parameters as in `slof`.

    D(z) = (1/k) sum over o in NN_k(z) of (kd(z) / kd(o)) ** LID(o). The local intrinsic dimension LID(o) is
    estimated from the distances r_1 <= .. <= r_k of o to its k nearest among the other references, k >= 2:

    - "mle" (Levina and Bickel): the inverse of the mean of ln(r_k / r_j) over j < k;
    - "mom" (method of moments, as in ELKI): mu / (r_k - mu), mu the mean of r_j over j < k;
    - "mom_all": the same with mu over j <= k.

    Distances of 0 (duplicates) are left out of the means; where none is left LID is 1. It is at most 1e6.
    """
    return _one_group("dao", queries, references, k, lid, metric, query_ids, reference_ids, device, working_memory)


class GroupDensity:
    """Densities of queries in G groups of references, for several k, from one distance pass.

    What belongs to the references alone (their k-distances and dimensions) is computed once, here.

    Parameters
    ----------
    groups
        G arrays [n_g, d]; each must hold more than max(ks) references.
    ks
        Neighbourhood sizes.
    density, lid, metric
        As in `slof`, `knn_distance` and `dao`.
    group_ids
        G arrays of sample ids [n_g], so that a query that is itself a reference is recognised.
    """

    def __init__(
        self,
        groups: Sequence[npt.ArrayLike],
        ks: Sequence[int],
        *,
        density: Density = "slof",
        lid: Lid = "mle",
        metric: Metric = "euclidean",
        group_ids: Sequence[npt.ArrayLike] | None = None,
        device: str = "cpu",
        working_memory: float = 256,
    ) -> None:
        check_density(density, lid, metric)
        self.ks = check_neighbours(ks, density)
        self.density, self.lid, self.metric = density, lid, metric
        if not len(groups):
            raise ValueError("there are no groups of references")
        arrays = [as_vectors(group, "references") for group in groups]
        for array in arrays:
            as_vectors(array, "references", dim=arrays[0].shape[1])
            if len(array) <= max(self.ks):
                raise ValueError(
                    f"k={max(self.ks)} needs at least {max(self.ks) + 1} references, but there are {len(array)}"
                )
        self.dim = arrays[0].shape[1]
        self.ids: IdArray | None = None
        if group_ids is not None:
            self.ids = np.concatenate(
                [as_ids(ids, "reference_ids", length=len(a)) for ids, a in zip(group_ids, arrays, strict=True)]
            )
        if metric == "cosine":
            arrays = [normalise(array, "references") for array in arrays]
        self._neighbours = GroupNeighbours(arrays, metric=metric, device=device, working_memory=working_memory)
        self._factor = self._outlier_factor()

    def log_density(self, queries: npt.ArrayLike, query_ids: npt.ArrayLike | None = None) -> FloatArray:
        """Logarithms of the densities of queries [N, d]: [len(ks), N, G], of the queries' dtype.

        Minus infinity where the density is 0. Memory beyond the result is bounded by `working_memory`; a query's
        result does not depend on the others, so a stream may be handed over in blocks of any size.
        """
        import torch

        queries = as_vectors(queries, "queries", dim=self.dim)
        same = None if query_ids is None else self._same_samples(as_ids(query_ids, "query_ids", length=len(queries)))
        if self.metric == "cosine":
            queries = normalise(queries, "queries")
        result = np.empty((len(self.ks), len(self._neighbours.sizes), len(queries)), dtype=queries.dtype)
        output = torch.from_numpy(result)

        def take(found: Neighbourhoods) -> None:
            where = (i.cpu() if isinstance(i, torch.Tensor) else i for i in (found.which, found.groups, found.queries))
            output[tuple(where)] = self._factor.log_density(found).to(output)

        if len(queries):
            self._neighbours.visit(queries, self.ks, take, same=same)
        return np.moveaxis(result, 1, 2)

    def _outlier_factor(self) -> OutlierFactor:
        import torch

        if self.density == "knn":
            return KnnDistance()
        groups = list(torch.split(self._neighbours.vectors, self._neighbours.sizes))
        found = list(groups)

        def work(mine: Iterable[int]) -> None:
            for group in mine:
                found[group] = nearest_others(groups[group], max(self.ks), metric=self.metric)

        in_threads(work, range(len(groups)))
        nearest = torch.cat(found)
        k_distances = self._in_slots(nearest[:, k - 1] for k in self.ks)
        if self.density == "slof":
            return Slof(self.ks, k_distances)
        return Dao(self.ks, k_distances, self._in_slots(local_dimension(nearest[:, :k], self.lid) for k in self.ks))

    def _in_slots(self, values: Iterable[torch.Tensor]) -> torch.Tensor:
        """[len(ks), G, n] from one value a reference for each k."""
        import torch

        return torch.stack([self._neighbours.slots(of_k) for of_k in values])

    def _same_samples(self, query_ids: IdArray) -> tuple[IntArray, IntArray] | None:
        if self.ids is None:
            raise ValueError("query_ids are of no use without the ids of the references")
        rows, references = matching_ids(query_ids, self.ids)
        return (rows, references) if len(rows) else None


def _one_group(
    density: Density,
    queries: npt.ArrayLike,
    references: npt.ArrayLike,
    k: int,
    lid: Lid,
    metric: Metric,
    query_ids: npt.ArrayLike | None,
    reference_ids: npt.ArrayLike | None,
    device: str,
    working_memory: float,
) -> FloatArray:
    if (query_ids is None) != (reference_ids is None):
        raise ValueError("query_ids and reference_ids are of use only together")
    queries, references = as_vectors(queries, "queries"), as_vectors(references, "references")
    fitted = GroupDensity(
        [references.astype(np.result_type(queries, references), copy=False)],
        (k,),
        density=density,
        lid=lid,
        metric=metric,
        group_ids=None if reference_ids is None else [reference_ids],
        device=device,
        working_memory=working_memory,
    )
    with np.errstate(over="ignore"):
        return np.exp(fitted.log_density(queries, query_ids)[0, :, 0], dtype=np.float64)
