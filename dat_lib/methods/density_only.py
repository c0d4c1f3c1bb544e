"""A control without text: the group in whose references the image lies most densely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dat_lib.density import Density, Metric
from dat_lib.dimension import Lid
from dat_lib.group_density import ReferenceDensity
from dat_lib.methods.contract import Needs, Prediction, Problem
from dat_lib.methods.pool_references import pool_references, reference_notes
from dat_lib.methods.settings import check_settings
from dat_lib.references import Shortage


@dataclass(frozen=True)
class DensityOnly:
    """prediction = class of argmin_{y,a} D_{y,a}(z): DAT without prompts, on the references that DAT herds.

    The score of a class is max_a 1 / (D_{y,a} + epsilon), 0 where it has no references.
    """

    name: ClassVar[str] = "density_only"
    title: ClassVar[str] = "Density only"
    needs: ClassVar[Needs] = Needs(text=(), pool=True, pool_labels=True, pool_attributes=True)

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

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the densest group."""
        references = pool_references(problem, n=self.n, k=self.k, shortage=self.shortage)
        densities = ReferenceDensity(
            references,
            (self.k,),
            density=self.density,
            lid=self.lid,
            metric=self.metric,
            device=problem.device,
            working_memory=problem.working_memory,
        )
        log_density = densities.log_density(problem.queries, problem.query_ids)[0].min(axis=2)
        # In logarithms, for a density can be larger than a float holds.
        scores = np.exp(-np.logaddexp(log_density.astype(np.float64), np.log(self.epsilon)))
        return Prediction(log_density.argmin(axis=1), scores, reference_notes(problem, references))


METHODS = (DensityOnly,)
