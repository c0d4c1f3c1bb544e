"""DAT that chooses its neighbourhood, strength and aggregation from the reference pool alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from dat_lib.arrays import IntArray
from dat_lib.density.reference_density import ReferenceDensity
from dat_lib.methods.dat import Dat
from dat_lib.methods.support.contract import Needs, NotApplicableError, Prediction, Problem
from dat_lib.methods.support.pool_densities import pool_densities
from dat_lib.methods.support.pool_references import pool_references
from dat_lib.methods.support.settings import check_settings
from dat_lib.metrics import Grouping, group_metrics
from dat_lib.references import GroupReferences, Shortage
from dat_lib.translation import Score, Terms, similarities, sweep

FEWEST_HELD_OUT = 30
"""A group with fewer images beside its references is judged on its references as well, each left out in turn."""


@dataclass(frozen=True)
class DatAuto:
    """DAT with the k, strength and terms that give the best worst-group accuracy on images of the pool.

    The paper fixes them for each dataset without saying on which images; here no test label or attribute
    is read. What is read is the pool's classes and true attributes, as DAT reads them: they place the
    references, and they are the groups whose accuracy decides. Ties go to the higher average, then to the
    first in order of `ks`, `strengths`, `terms`.

    Judged are up to `per_group` images of each group, drawn by the seed of the problem: images that are
    no references where there are at least 30, else those and the references, each with itself left out of
    its neighbours. Such a reference is an easy case: herding prefers images near the mean, and it still
    counts in the neighbourhoods of other references. The pool shares the training distribution, so what
    is best on it need not be best on the test images. The choice, what it reached and on how many images
    are in the notes.
    """

    name: ClassVar[str] = "dat_auto"
    title: ClassVar[str] = "DAT auto"
    needs: ClassVar[Needs] = Needs(text=("class", "group"), pool=True, pool_labels=True, pool_attributes=True)

    n: int = 56
    ks: tuple[int, ...] = (5, 10, 15, 20, 30, 40)
    """Those below n are tried."""
    strengths: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)
    terms: tuple[Terms, ...] = ("both", "group", "average")
    per_group: int = 200
    groups: Grouping = "class_attribute"
    score: Score = "ratio"
    shortage: Shortage = "drop"
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        check_settings(self, at_least={"n": 2, "ks": 1, "strengths": 0, "per_group": 1}, above={"epsilon": 0})
        for name in ("strengths", "terms"):
            if not getattr(self, name):
                raise ValueError(f"{self.name}: setting {name} is empty; it takes at least one value to try")
        if not any(k < self.n for k in self.ks):
            raise ValueError(f"{self.name}: setting ks = {self.ks} has no value below n = {self.n}")

    def predict(self, problem: Problem) -> Prediction:
        """Choose on the pool, then classify the queries as DAT does."""
        chosen, notes = self._choose(problem)
        assert chosen.needs.densities is not None
        densities = pool_densities(problem, chosen.needs.densities)
        prediction = chosen.predict(replace(problem, densities=densities))
        return Prediction(prediction.labels, prediction.scores, {**prediction.notes, **notes})

    def _choose(self, problem: Problem) -> tuple[Dat, dict[str, Any]]:
        assert problem.pool is not None
        assert problem.pool_ids is not None
        assert problem.pool_labels is not None
        assert problem.pool_attributes is not None
        ks = [k for k in self.ks if k < self.n]
        references = pool_references(problem, n=self.n, k=max(ks), shortage=self.shortage)
        judged = self._judged(problem, references)
        images, labels, attributes = (
            values[judged] for values in (problem.pool, problem.pool_labels, problem.pool_attributes)
        )
        if len(np.unique(labels)) == 1:
            raise NotApplicableError(f"all images to judge a choice on are of class {labels[0]}, so none can be told")
        densities = ReferenceDensity(references, ks, device=problem.device, working_memory=problem.working_memory)
        predictions = sweep(
            similarities(images, problem.text["class"], problem.text["group"]),
            list(densities.log_density(images, problem.pool_ids[judged])),
            strengths=self.strengths,
            terms=self.terms,
            score=self.score,
            epsilon=self.epsilon,
            temperature=1 / problem.logit_scale,
        )
        settings = list(product(ks, self.strengths, self.terms))
        results = [
            group_metrics(predicted, labels, attributes, groups=self.groups)
            for predicted in predictions.reshape(len(settings), -1)
        ]
        # `max` keeps the first of equals.
        best = max(range(len(settings)), key=lambda i: (results[i].worst_group, results[i].average))
        k, strength, terms = settings[best]
        notes = {
            "chosen": {"k": k, "strength": strength, "terms": terms},
            "pool_worst_group": results[best].worst_group,
            "pool_average": results[best].average,
            "judged_held_out": int((~np.isin(judged, references.positions)).sum()),
            "judged_leave_one_out": int(np.isin(judged, references.positions).sum()),
        }
        return Dat(
            n=self.n,
            k=k,
            strength=strength,
            terms=terms,
            score=self.score,
            shortage=self.shortage,
            epsilon=self.epsilon,
        ), notes

    def _judged(self, problem: Problem, references: GroupReferences) -> IntArray:
        """Rows of the pool whose classification decides, in order."""
        assert problem.pool_labels is not None
        assert problem.pool_attributes is not None
        is_reference = np.zeros(len(problem.pool_labels), bool)
        is_reference[references.positions] = True
        rows = []
        for label, attribute in product(range(problem.n_classes), range(problem.n_attributes)):
            group = (problem.pool_labels == label) & (problem.pool_attributes == attribute)
            held_out = np.flatnonzero(group & ~is_reference)
            candidates = held_out if len(held_out) >= FEWEST_HELD_OUT else np.flatnonzero(group)
            if len(candidates) > self.per_group:
                rng = np.random.default_rng([problem.seed, label, attribute])
                candidates = np.sort(rng.choice(candidates, self.per_group, replace=False))
            rows.append(candidates)
        return np.concatenate(rows)


METHODS = (DatAuto,)
