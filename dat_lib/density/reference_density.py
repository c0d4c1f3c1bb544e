"""Densities of queries in the reference sets of all groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, as_vectors, normalise
from dat_lib.choices import Density, Lid, Metric
from dat_lib.density.densities import GroupDensity
from dat_lib.reference_sets import GroupReferences


class ReferenceDensity:
    """Densities D_{y,a} for several k from one distance pass, infinite for groups without references.

    Parameters are those of `dat_lib.density.densities.GroupDensity`.
    """

    def __init__(
        self,
        references: GroupReferences,
        ks: Sequence[int],
        *,
        density: Density = "slof",
        lid: Lid = "mle",
        metric: Metric = "euclidean",
        device: str = "cpu",
        working_memory: float = 256,
    ) -> None:
        self.ks = tuple(ks)
        self.shape = (references.n_classes, references.n_attributes)
        self.dim = references.vectors.shape[1]
        self._groups = references.groups
        self._with_ids = references.ids is not None
        self._density: GroupDensity | None = None
        if self._groups:
            rows = [references.rows(*group) for group in self._groups]
            self._density = GroupDensity(
                [references.vectors[of_group] for of_group in rows],
                ks,
                density=density,
                lid=lid,
                metric=metric,
                group_ids=None if references.ids is None else [references.ids[of_group] for of_group in rows],
                device=device,
                working_memory=working_memory,
            )

    def log_density(self, queries: npt.ArrayLike, sample_ids: npt.ArrayLike | None = None) -> FloatArray:
        """log D [len(ks), N, K, M] of queries [N, d], which are normalised first; +inf for groups without references.

        A reference with the sample id of the query is left out of its neighbours, where the references have ids.
        """
        unit = normalise(as_vectors(queries, "queries", dim=self.dim), "queries")
        groups = math.prod(self.shape)
        if self._density is None:
            return np.full((len(self.ks), len(unit), *self.shape), np.inf, dtype=unit.dtype)
        known = np.moveaxis(self._density.log_density(unit, sample_ids if self._with_ids else None), 2, 1)
        if len(self._groups) < groups:
            by_group = np.full((len(self.ks), groups, len(unit)), np.inf, dtype=unit.dtype)
            by_group[:, np.ravel_multi_index(np.transpose(self._groups), self.shape)] = known
        else:
            by_group = known
        return np.moveaxis(by_group.reshape(len(self.ks), *self.shape, len(unit)), -1, 1)
