"""DAT and DAT*: group similarities divided by how sparse each group's references are around the image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dat_lib.choices import Choice, Density, Lid, Metric, Shortage
from dat_lib.methods.support.contract import DensityNeeds, Needs, NotApplicableError, Prediction, Problem
from dat_lib.methods.support.settings import check_settings
from dat_lib.translation import Score, Terms, similarities, sweep, translate

_AVERAGED = ("negative_similarity_share",)


@dataclass(frozen=True)
class Dat:
    """s~_{y,a} = s_{y,a} / (D_{y,a} + epsilon)^strength; prediction = argmax_y max(max_a s~_{y,a}, s~_{y,avg}).

    The paper's Algorithm 1: s~_{y,avg} = (sum_a s~_{y,a} + s_y) / (M + 1), and D_{y,a} is the density (SLOF)
    of the image in n herded references of the group. The settings are those of `dat_lib.estimator.DAT`, save that
    `temperature` None is the backbone's own, 1 / logit scale, that `references` are "herded" or "random", and that
    `corruption` exchanges this share of each group's references with those of other groups, by the seed of the
    problem (the paper's table of reference quality).

    Groups that are dropped are named in the notes; where all are, the method is not applicable.

    A class may lack scores where `terms` is "group", or where a strength overflows; then the prediction
    has none.
    """

    name: ClassVar[str] = "dat"
    title: ClassVar[str] = "DAT"
    groups: ClassVar[Literal["true", "inferred"]] = "true"

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
    references: Choice = "herded"
    corruption: float = 0.0

    def __post_init__(self) -> None:
        check_settings(
            self,
            at_least={"n": 1, "k": 2 if self.density == "dao" else 1, "strength": 0, "corruption": 0},
            above={"epsilon": 0, "temperature": 0},
        )
        if self.corruption > 1:
            raise ValueError(f"{self.name}: setting corruption = {self.corruption} must be at most 1")
        if self.n <= self.k:
            raise ValueError(f"{self.name}: setting k = {self.k} must be below n = {self.n}")

    @property
    def needs(self) -> Needs:
        """Prompts of classes and groups, and densities."""
        return Needs(
            text=("class", "group"),
            densities=DensityNeeds(
                n=self.n,
                k=self.k,
                density=self.density,
                lid=self.lid,
                metric=self.metric,
                shortage=self.shortage,
                references=self.references,
                corruption=self.corruption,
                groups=self.groups,
            ),
            one_by_one=True,
        )

    def predict(self, problem: Problem) -> Prediction:
        """Translate the similarities by the densities and classify the queries."""
        assert problem.densities is not None
        log_density = problem.densities.log_density
        # Algorithm 1 drops groups. With all of them dropped it would be zero-shot under another name.
        if reason := problem.densities.without_references:
            raise NotApplicableError(reason)
        if self.terms == "group" and log_density.size and np.isposinf(log_density).all():
            raise NotApplicableError("the density of every group is infinite, and terms='group' goes by nothing else")
        similarity = similarities(problem.queries, problem.text["class"], problem.text["group"])
        notes = {**problem.densities.notes, "negative_similarity_share": similarity.negative_share}
        temperature = self.temperature or 1 / problem.logit_scale
        scores = translate(
            similarity,
            log_density,
            strength=self.strength,
            terms=self.terms,
            score=self.score,
            epsilon=self.epsilon,
            temperature=temperature,
        )
        if np.isfinite(scores).all():
            return Prediction(scores.argmax(axis=1), scores, notes, averaged=_AVERAGED)
        labels = sweep(
            similarity,
            [log_density],
            strengths=[self.strength],
            terms=[self.terms],
            score=self.score,
            epsilon=self.epsilon,
            temperature=temperature,
        )[0, 0, 0]
        return Prediction(labels, None, notes, averaged=_AVERAGED)


@dataclass(frozen=True)
class DatStar(Dat):
    """DAT with the attributes of the pool inferred, argmax_a <z, w_a> (the paper's Algorithm 2).

    The class labels of the pool are still read. Settings as for DAT.
    """

    name: ClassVar[str] = "dat_star"
    title: ClassVar[str] = "DAT*"
    groups: ClassVar[Literal["true", "inferred"]] = "inferred"


METHODS = (Dat, DatStar)
