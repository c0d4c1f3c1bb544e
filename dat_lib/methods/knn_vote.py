"""A control without text: the vote of the k nearest references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dat_lib.applicability import one_answer
from dat_lib.arrays import FloatArray, IdArray, IntArray, matching_ids, normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.pool_references import pool_references
from dat_lib.methods.support.settings import check_settings
from dat_lib.reference_sets import reference_notes
from dat_lib.references import GroupReferences, Shortage

BLOCK_PAIRS = 2**24
"""Pairs of query and reference compared at a time."""


@dataclass(frozen=True)
class KnnVote:
    """prediction = the commonest class among the k references nearest to the query, over all groups.

    Scores are shares of votes; a tie goes to the class of the nearest of the tied voters. The references
    are those DAT herds with the same settings. A query that is itself a reference has no vote.
    """

    name: ClassVar[str] = "knn_vote"
    title: ClassVar[str] = "k-NN vote"
    needs: ClassVar[Needs] = Needs(text=(), pool=True, pool_labels=True, pool_attributes=True)

    n: int = 56
    k: int = 10
    shortage: Shortage = "drop"

    def __post_init__(self) -> None:
        check_settings(self, at_least={"n": 1, "k": 1})
        if self.n <= self.k:
            raise ValueError(f"{self.name}: setting k = {self.k} must be below n = {self.n}")

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the vote."""
        references = pool_references(problem, n=self.n, k=self.k, shortage=self.shortage)
        one_answer(references.labels)
        queries = normalise(problem.queries, "queries")
        voters = references.labels[nearest_references(queries, problem.query_ids, references, self.k)]
        row = np.arange(len(queries))[:, None]
        votes = np.zeros((len(queries), problem.n_classes))
        np.add.at(votes, (row, voters), 1)
        tied = votes == votes.max(axis=1, keepdims=True)
        nearest_tied = tied[row, voters].argmax(axis=1)
        return Prediction(
            voters[row[:, 0], nearest_tied], votes / self.k, reference_notes(references, problem.query_ids)
        )


def nearest_references(queries: FloatArray, query_ids: IdArray, references: GroupReferences, k: int) -> IntArray:
    """Rows [N, k] of the references nearest to unit queries [N, d], nearest first, a query's own sample left out."""
    assert references.ids is not None
    result = np.empty((len(queries), k), np.int64)
    step = max(1, BLOCK_PAIRS // len(references.vectors))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        cosines = queries[block] @ references.vectors.T.astype(queries.dtype)
        cosines[matching_ids(query_ids[block], references.ids)] = -np.inf
        nearest = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(cosines, nearest, axis=1), axis=1, kind="stable")
        result[block] = np.take_along_axis(nearest, order, axis=1)
    return result


METHODS = (KnnVote,)
