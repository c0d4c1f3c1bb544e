"""A control without text: the nearest mean of a class's references (iCaRL's classifier, Rebuffi et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dat_lib.applicability import directions, one_answer
from dat_lib.arrays import matching_ids, normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.pool_references import pool_references
from dat_lib.methods.support.settings import check_settings
from dat_lib.reference_sets import reference_notes
from dat_lib.references import Shortage

WITHOUT_REFERENCES = -2.0
"""Score of a class without references: below any cosine."""


@dataclass(frozen=True)
class NearestClassMean:
    """prediction = argmax_y <z, normalise(mean of the unit references of class y)>, all its groups together.

    The references are those DAT herds with the same settings (`k` decides only which groups `shortage` =
    "use" keeps), so what DAT gains over this control is due to prompts and densities, not to labelled
    images. A query that is itself a reference is left out of its class's mean.
    """

    name: ClassVar[str] = "nearest_class_mean"
    title: ClassVar[str] = "Nearest class mean"
    needs: ClassVar[Needs] = Needs(text=(), pool=True, pool_labels=True, pool_attributes=True)

    n: int = 56
    k: int = 10
    shortage: Shortage = "drop"

    def __post_init__(self) -> None:
        check_settings(self, at_least={"n": 1, "k": 1})
        if self.n <= self.k:
            raise ValueError(f"{self.name}: setting k = {self.k} must be below n = {self.n}")

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the nearest mean."""
        references = pool_references(problem, n=self.n, k=self.k, shortage=self.shortage)
        one_answer(references.labels)
        assert references.ids is not None
        queries = normalise(problem.queries, "queries")
        scores = np.full((len(queries), problem.n_classes), WITHOUT_REFERENCES, queries.dtype)
        rows, same = matching_ids(problem.query_ids, references.ids)
        for label in np.unique(references.labels):
            total = references.vectors[references.labels == label].sum(axis=0, dtype=np.float64)
            scores[:, label] = queries @ directions(total, "class means").astype(queries.dtype)
            for row, reference in zip(rows, same, strict=True):
                if references.labels[reference] == label:
                    others = directions(total - references.vectors[reference], "class means")
                    scores[row, label] = queries[row] @ others.astype(queries.dtype)
        return Prediction(scores.argmax(axis=1), scores, reference_notes(references, problem.query_ids))


METHODS = (NearestClassMean,)
