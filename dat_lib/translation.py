"""Density translation of similarities, its aggregation to class scores, and many settings from one density pass."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, IntArray
from dat_lib.similarity import cosines

if TYPE_CHECKING:
    import torch

Terms: TypeAlias = Literal["both", "group", "average"]
Score: TypeAlias = Literal["ratio", "logit"]

BLOCK_PAIRS = 262_144
"""Pairs of query and group translated at once."""


@dataclass(frozen=True)
class Similarities:
    """Cosines of N queries with class prompts and group prompts."""

    classes: FloatArray
    """[N, K] s_y"""
    groups: FloatArray
    """[N, K, M] s_{y,a}"""

    @property
    def negative(self) -> int:
        """How many of all similarities are negative. The quotient then rewards sparse groups, not dense ones."""
        return int((self.classes < 0).sum() + (self.groups < 0).sum())

    @property
    def negative_share(self) -> float:
        """`negative` as a share of all similarities; 0 where there are none."""
        return self.negative / max(1, self.classes.size + self.groups.size)


def similarities(queries: npt.ArrayLike, class_text: npt.ArrayLike, group_text: npt.ArrayLike) -> Similarities:
    """Cosines of queries [N, d] with class_text [K, d] and group_text [K, M, d]; nothing need be of unit length."""
    return Similarities(
        cosines(queries, class_text, "queries", "class_text"),
        cosines(queries, group_text, "queries", "group_text"),
    )


def translate(
    similarity: Similarities,
    log_density: FloatArray,
    *,
    strength: float,
    terms: Terms = "both",
    score: Score = "ratio",
    epsilon: float = 1e-8,
    temperature: float = 0.01,
) -> FloatArray:
    """Class scores [N, K], float64, from similarities and log densities [N, K, M] (+inf: no references).

    score="ratio", the paper's quotient:

        s~_{y,a} = s_{y,a} / (D_{y,a} + epsilon) ** strength
        s~_{y,avg} = (sum_a s~_{y,a} + s_y) / (M + 1)

    score="logit", its theory: m_{y,a} = s_{y,a} / temperature - strength log(D_{y,a} + epsilon). That is the logarithm
    of the same quotient with exp(s / temperature) in place of s, so the average is taken of exponentials:
    m_{y,avg} = log((sum_a exp m_{y,a} + exp(s_y / temperature)) / (M + 1)).

    terms="group" scores a class by the largest over a of its group terms, "average" by its average, "both" by the
    larger of the two.

    A group without references has an infinite density. Its term adds nothing to the average and is left out of the
    largest, so that it never wins, not even against negative scores. A class without any is scored by its average
    alone, and by minus infinity under terms="group".
    """
    check_translation(strength, terms, score, epsilon, temperature)
    result = np.empty(similarity.classes.shape[::-1], dtype=np.float64)
    for block, translator in _translators(similarity, log_density, score, epsilon, temperature):
        scores = translator.scores(strength)[terms]
        result[:, block] = translator.unscaled(scores, strength, terms).numpy()
    return result.T


def sweep(
    similarity: Similarities,
    log_densities: Sequence[FloatArray],
    *,
    strengths: Sequence[float],
    terms: Sequence[Terms] = ("both",),
    score: Score = "ratio",
    epsilon: float = 1e-8,
    temperature: float = 0.01,
) -> IntArray:
    """Predicted classes [len(log_densities), len(strengths), len(terms), N] for all settings at once.

    `log_densities` are arrays [N, K, M], for example one for each k; the rest is as in `translate`. Scores are
    compared in units of each query's largest, so that no strength overflows; ties go to the first class.
    """
    for strength in strengths:
        for term in terms:
            check_translation(strength, term, score, epsilon, temperature)
    shape = (len(log_densities), len(strengths), len(terms), len(similarity.classes))
    result = np.empty(shape, dtype=np.int64)
    for i, log_density in enumerate(log_densities):
        for block, translator in _translators(similarity, log_density, score, epsilon, temperature):
            for j, strength in enumerate(strengths):
                scores = translator.scores(strength)
                for m, term in enumerate(terms):
                    result[i, j, m, block] = scores[term].argmax(dim=0).numpy()
    return result


def check_translation(strength: float, terms: str, score: str, epsilon: float, temperature: float) -> None:
    """Refuse settings outside their range."""
    for name, value, known in (("terms", terms, get_args(Terms)), ("score", score, get_args(Score))):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")
    if not 0 <= strength < math.inf:
        raise ValueError(f"strength must be finite and not negative, not {strength}")
    for name, number in (("epsilon", epsilon), ("temperature", temperature)):
        if not 0 < number < math.inf:
            raise ValueError(f"{name} must be finite and positive, not {number}")


def _translators(
    similarity: Similarities, log_density: FloatArray, score: Score, epsilon: float, temperature: float
) -> Iterator[tuple[slice, _Ratio | _Logit]]:
    """Queries in blocks, classes and attributes first."""
    import torch

    if log_density.shape != similarity.groups.shape:
        raise ValueError(f"log_density has the shape {log_density.shape} where {similarity.groups.shape} is needed")
    queries, classes, attributes = log_density.shape
    step = max(1, BLOCK_PAIRS // (classes * attributes))
    for start in range(0, queries, step):
        block = slice(start, min(start + step, queries))
        logarithm, groups, of_class = (
            torch.from_numpy(np.moveaxis(array[block], 0, -1)).double()
            for array in (log_density, similarity.groups, similarity.classes)
        )
        absent = logarithm == math.inf
        log_sum = torch.logaddexp(logarithm, torch.tensor(math.log(epsilon), dtype=torch.float64))
        relief = -log_sum.masked_fill_(absent, 0)
        if score == "ratio":
            yield block, _Ratio(groups, of_class, relief, absent)
        else:
            yield block, _Logit(groups / temperature, of_class / temperature, relief, absent)


class _Ratio:
    """Quotient scores [K, b] of a block, in units of each query's largest, so that none overflows or vanishes."""

    def __init__(self, groups: torch.Tensor, classes: torch.Tensor, relief: torch.Tensor, absent: torch.Tensor) -> None:
        self.groups, self.classes = groups, classes
        self.absent = absent if absent.any() else None
        self.top = relief.masked_fill(absent, -math.inf).amax(dim=(0, 1)).nan_to_num_(neginf=0.0)
        self.relief = relief.sub_(self.top)

    def scores(self, strength: float) -> dict[Terms, torch.Tensor]:
        """Group terms are in units of D ** -strength at its largest, the others of that or of 1 if 1 is larger."""
        import torch

        translated = (strength * self.relief).exp_().mul_(self.groups)
        if self.absent is not None:
            translated.masked_fill_(self.absent, 0)
        unit = _unit(strength * self.top.clamp_max(0))
        average = translated.sum(dim=1).mul_(unit)
        average.addcmul_(self.classes, _unit(-strength * self.top.clamp_min(0)))
        average /= translated.shape[1] + 1
        if self.absent is not None:
            translated.masked_fill_(self.absent, -math.inf)
        group = translated.amax(dim=1)
        return {"both": torch.maximum(group * unit, average), "group": group, "average": average}

    def unscaled(self, scores: torch.Tensor, strength: float, terms: Terms) -> torch.Tensor:
        top = self.top if terms == "group" else self.top.clamp_min(0)
        return scores * _unit(strength * top)


def _unit(logarithm: torch.Tensor) -> torch.Tensor:
    """exp, kept above 0 so that minus infinity times it stays what it is."""
    return logarithm.exp_().clamp_min_(sys.float_info.min)


class _Logit:
    """Logit scores [K, b] of a block."""

    def __init__(self, groups: torch.Tensor, classes: torch.Tensor, relief: torch.Tensor, absent: torch.Tensor) -> None:
        self.groups, self.classes, self.relief, self.absent = groups, classes, relief, absent

    def scores(self, strength: float) -> dict[Terms, torch.Tensor]:
        import torch

        translated = torch.add(self.groups, self.relief, alpha=strength).masked_fill_(self.absent, -math.inf)
        group = translated.amax(dim=1)
        average = torch.logsumexp(torch.cat([translated, self.classes[:, None]], dim=1), dim=1)
        average -= math.log(translated.shape[1] + 1)
        return {"both": torch.maximum(group, average), "group": group, "average": average}

    def unscaled(self, scores: torch.Tensor, strength: float, terms: Terms) -> torch.Tensor:
        return scores
