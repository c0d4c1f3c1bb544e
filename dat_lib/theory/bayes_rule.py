"""How close the DAT decision comes to the Bayes rule of Kent groups as its reference sets grow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dat_lib.arrays import FloatArray, IntArray
from dat_lib.choices import Density
from dat_lib.scores import Score
from dat_lib.theory.groups import kent_groups, sparsity
from dat_lib.theory.registry import Check
from dat_lib.translation import similarities, sweep

Rule: TypeAlias = Literal["bayes", "zero shot", "dat ratio", "dat logit", "density only"]
Neighbours: TypeAlias = Literal["fixed", "root"]


@dataclass(frozen=True)
class BayesApproach:
    """One rule at one size of reference sets, averaged over repeats."""

    rule: Rule
    density: Density | Literal[""]
    """Empty for a rule that uses none, as is `neighbours`."""
    neighbours: Neighbours | Literal[""]
    """How k goes with n: always the same, or the root of n."""
    dim: int
    n: int
    """References per group; 0 for a rule that uses none."""
    k: int
    strength: float
    repeats: int
    samples: int
    agreement: float
    """Share of decisions that are those of the Bayes rule of classes."""
    agreement_deviation: float
    """Standard deviation over repeats."""
    error: float
    """Share of wrong classes."""
    worst_group_error: float
    excess_error: float
    """`error` minus that of the Bayes rule."""


def bayes_approach(
    *,
    dims: Sequence[int] = (6, 16),
    ns: Sequence[int] = (20, 56, 200, 1000),
    densities: Sequence[Density] = ("slof", "knn"),
    neighbours: Sequence[Neighbours] = ("fixed", "root"),
    k: int = 10,
    strength: float = 10.0,
    temperature: float = 0.01,
    each: int = 250,
    repeats: int = 2,
    seed: int = 0,
) -> list[BayesApproach]:
    """Compare class decisions with argmax_y sum_a p_{y,a}(z), the Bayes rule of equally likely groups.

    Beside DAT (quotient and logit form, `dat_lib.translation.translate`) stand zero-shot and "density only",
    argmin over groups of D. With the k-NN distance the last tends to the Bayes rule of groups when k grows
    and k / n falls. SLOF compares the neighbourhood of a query with those of its neighbours, so at any point of
    positive density it tends to 1 in every group: more references need not bring it closer.

    Parameters
    ----------
    k
        Neighbours where they are fixed; the root of n, at least 2, otherwise.
    each
        Queries per group.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be 1 or more, not {repeats}")
    forms: dict[Rule, Score] = {"dat ratio": "ratio", "dat logit": "logit"}
    rows = []
    for dim in dims:
        world = kent_groups(seed, dim=dim)
        points, of = world.queries(each)
        similarity = similarities(points, world.class_text, world.group_text)
        judge = _Judge(dim, of, of // world.shape[1], bayes_classes(world.log_densities(points), world.shape))
        rows.append(judge.row("bayes", [judge.bayes]))
        rows.append(judge.row("zero shot", [similarity.classes.argmax(axis=1)]))
        for n in ns:
            references = [world.references(n, repeat) for repeat in range(repeats)]
            for how in neighbours:
                number = k if how == "fixed" else max(2, round(math.sqrt(n)))
                if number >= n:
                    continue
                for density in densities:
                    logarithms = [sparsity(each_set, points, number, density) for each_set in references]
                    by_group = [logarithm.reshape(-1, *world.shape) for logarithm in logarithms]
                    decided: dict[Rule, list[IntArray]] = {
                        rule: list(
                            sweep(similarity, by_group, strengths=[strength], score=score, temperature=temperature)[
                                :, 0, 0
                            ]
                        )
                        for rule, score in forms.items()
                    }
                    decided["density only"] = [logarithm.argmin(axis=1) // world.shape[1] for logarithm in logarithms]
                    rows.extend(
                        judge.row(rule, decisions, density, how, n, number, strength)
                        for rule, decisions in decided.items()
                    )
    return rows


def bayes_classes(log_density: FloatArray, shape: tuple[int, int]) -> IntArray:
    """argmax_y sum_a p_{y,a}(z) [N] from log densities [N, K * M]: the Bayes rule of equally likely groups."""
    by_group = log_density.reshape(-1, *shape)
    classes: IntArray = np.logaddexp.reduce(by_group, axis=2).argmax(axis=1)
    return classes


@dataclass(frozen=True)
class _Judge:
    """What decisions are compared with."""

    dim: int
    of: IntArray
    labels: IntArray
    bayes: IntArray

    def row(
        self,
        rule: Rule,
        decisions: Sequence[IntArray],
        density: Density | Literal[""] = "",
        neighbours: Neighbours | Literal[""] = "",
        n: int = 0,
        k: int = 0,
        strength: float = 0.0,
    ) -> BayesApproach:
        """Decisions [N] of every repeat, judged."""
        wrong = np.stack(decisions) != self.labels
        agreement = (np.stack(decisions) == self.bayes).mean(axis=1)
        by_group = [float(wrong[:, self.of == group].mean()) for group in np.unique(self.of)]
        return BayesApproach(
            rule=rule,
            density=density,
            neighbours=neighbours,
            dim=self.dim,
            n=n,
            k=k,
            strength=strength,
            repeats=len(decisions),
            samples=len(self.labels),
            agreement=float(agreement.mean()),
            agreement_deviation=float(agreement.std()),
            error=float(wrong.mean()),
            worst_group_error=max(by_group),
            excess_error=float(wrong.mean() - (self.bayes != self.labels).mean()),
        )


CHECKS = (Check("bayes_approach", bayes_approach),)
