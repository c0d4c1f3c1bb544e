"""A control without text: the group in whose references the image lies most densely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dat_lib.applicability import one_answer
from dat_lib.choices import Density, Lid, Metric, Shortage
from dat_lib.methods.support.contract import DensityNeeds, Needs, NotApplicableError, Prediction, Problem
from dat_lib.methods.support.settings import check_settings


@dataclass(frozen=True)
class DensityOnly:
    """prediction = class of argmin_{y,a} D_{y,a}(z): DAT without prompts, on the references that DAT herds.

    The score of a class is max_a 1 / (D_{y,a} + epsilon), 0 where it has no references.
    """

    name: ClassVar[str] = "density_only"
    title: ClassVar[str] = "Density only"

    n: int = 56
    k: int = 10
    density: Density = "slof"
    shortage: Shortage = "drop"
    epsilon: float = 1e-8
    lid: Lid = "mle"
    metric: Metric = "euclidean"

    def __post_init__(self) -> None:
        check_settings(self, at_least={"n": 1, "k": 2 if self.density == "dao" else 1}, above={"epsilon": 0})
        if self.n <= self.k:
            raise ValueError(f"{self.name}: setting k = {self.k} must be below n = {self.n}")

    @property
    def needs(self) -> Needs:
        """Densities alone."""
        return Needs(
            text=(),
            densities=DensityNeeds(
                n=self.n, k=self.k, density=self.density, lid=self.lid, metric=self.metric, shortage=self.shortage
            ),
            one_by_one=True,
        )

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the densest group."""
        assert problem.densities is not None
        log_density = problem.densities.log_density.min(axis=2)
        if log_density.size and np.isposinf(log_density).all():
            raise NotApplicableError(problem.densities.without_references or "the density of every group is infinite")
        finite = ~np.isposinf(log_density).all(axis=0)
        if finite.sum() == 1:
            one_answer(np.flatnonzero(finite))
        # In logarithms, for a density can be larger than a float holds.
        scores = np.exp(-np.logaddexp(log_density.astype(np.float64), np.log(self.epsilon)))
        return Prediction(log_density.argmin(axis=1), scores, problem.densities.notes)


METHODS = (DensityOnly,)
