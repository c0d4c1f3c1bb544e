"""DAT and DAT*: group similarities divided by how sparse each group's references are around the image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dat_lib.arrays import IntArray
from dat_lib.attributes import infer_attributes
from dat_lib.density import Density, Metric
from dat_lib.dimension import Lid
from dat_lib.estimator import DAT
from dat_lib.methods.contract import Needs, Prediction, Problem
from dat_lib.methods.pool_references import reference_notes
from dat_lib.methods.settings import check_settings
from dat_lib.references import (
    GroupReferences,
    Sampling,
    Shortage,
    corrupt_references,
    select_references,
)
from dat_lib.translation import Score, Terms


@dataclass(frozen=True)
class Dat:
    """s~_{y,a} = s_{y,a} / (D_{y,a} + epsilon)^strength; prediction = argmax_y max(max_a s~_{y,a}, s~_{y,avg}).

    The paper's Algorithm 1: s~_{y,avg} = (sum_a s~_{y,a} + s_y) / (M + 1), and D_{y,a} is the density (SLOF)
    of the image in n herded references of the group. The settings are those of `dat_lib.estimator.DAT`, save that
    `temperature` None is the backbone's own, 1 / logit scale, and that `noise` exchanges this share of
    each group's references with those of other groups, by the seed of the problem (the paper's table of
    reference quality).

    A class may lack scores where `terms` is "group", or where a strength overflows; then the prediction
    has none.
    """

    name: ClassVar[str] = "dat"
    title: ClassVar[str] = "DAT"
    needs: ClassVar[Needs] = Needs(text=("class", "group"), pool=True, pool_labels=True, pool_attributes=True)

    n: int = 56
    k: int = 10
    strength: float = 10.0
    density: Density = "slof"
    terms: Terms = "both"
    score: Score = "ratio"
    shortage: Shortage = "drop"
    epsilon: float = 1e-8
    lid: Lid = "mle"
    metric: Metric = "euclidean"
    temperature: float | None = None
    sampling: Sampling = "herding"
    noise: float = 0.0

    def __post_init__(self) -> None:
        check_settings(
            self,
            at_least={"n": 1, "k": 2 if self.density == "dao" else 1, "strength": 0, "noise": 0},
            above={"epsilon": 0, "temperature": 0},
        )
        if self.noise > 1:
            raise ValueError(f"{self.name}: setting noise = {self.noise} must be at most 1")
        if self.n <= self.k:
            raise ValueError(f"{self.name}: setting k = {self.k} must be below n = {self.n}")

    def predict(self, problem: Problem) -> Prediction:
        """Choose the references from the pool and classify the queries."""
        attributes, notes = self._pool_attributes(problem)
        model = DAT(**self._parameters(problem))
        text = {"class_text": problem.text["class"], "group_text": problem.text["group"]}
        if self.noise:
            noisy = self._noisy_references(problem, attributes)
            # Each group of this pool has just the references it is to have, so that fitting keeps them all.
            model.fit(noisy.vectors, noisy.labels, noisy.attributes, sample_ids=noisy.ids, **text)
            notes |= reference_notes(problem, noisy)
        else:
            assert problem.pool is not None
            assert problem.pool_labels is not None
            model.fit(problem.pool, problem.pool_labels, attributes, sample_ids=problem.pool_ids, **text)
            notes |= reference_notes(problem, model.references_)
        scores = model.decision_function(problem.queries, problem.query_ids)
        notes["negative_similarity_share"] = model.report_.negative_share
        if np.isfinite(scores).all():
            return Prediction(scores.argmax(axis=1), scores, notes)
        return Prediction(model.predict(problem.queries, problem.query_ids), None, notes)

    def _pool_attributes(self, problem: Problem) -> tuple[IntArray, dict[str, Any]]:
        """The attributes that place the pool in groups, and what to note about them."""
        assert problem.pool_attributes is not None
        return problem.pool_attributes, {}

    def _noisy_references(self, problem: Problem, attributes: IntArray) -> GroupReferences:
        assert problem.pool is not None
        assert problem.pool_labels is not None
        chosen = select_references(
            problem.pool,
            problem.pool_labels,
            attributes,
            n=self.n,
            k=self.k,
            n_classes=problem.n_classes,
            n_attributes=problem.n_attributes,
            shortage=self.shortage,
            sampling=self.sampling,
            seed=problem.seed,
            sample_ids=problem.pool_ids,
        )
        return corrupt_references(chosen, rate=self.noise, seed=problem.seed)

    def _parameters(self, problem: Problem) -> dict[str, Any]:
        return {
            "n": self.n,
            "k": self.k,
            "strength": self.strength,
            "density": self.density,
            "terms": self.terms,
            "score": self.score,
            "shortage": self.shortage,
            "epsilon": self.epsilon,
            "lid": self.lid,
            "metric": self.metric,
            "temperature": self.temperature or 1 / problem.logit_scale,
            "sampling": self.sampling,
            "seed": problem.seed,
            "device": problem.device,
            "working_memory": problem.working_memory,
        }


@dataclass(frozen=True)
class DatStar(Dat):
    """DAT with the attributes of the pool inferred, argmax_a <z, w_a> (the paper's Algorithm 2).

    The class labels of the pool are still read. Settings as for DAT.
    """

    name: ClassVar[str] = "dat_star"
    title: ClassVar[str] = "DAT*"
    needs: ClassVar[Needs] = Needs(text=("class", "attribute", "group"), pool=True, pool_labels=True)

    def _pool_attributes(self, problem: Problem) -> tuple[IntArray, dict[str, Any]]:
        assert problem.pool is not None
        inferred = infer_attributes(problem.pool, problem.text["attribute"]).attributes
        counts = np.bincount(inferred, minlength=problem.n_attributes)
        return inferred, {"inferred_pool_attributes": counts.tolist()}


METHODS = (Dat, DatStar)
