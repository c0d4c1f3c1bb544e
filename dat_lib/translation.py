"""Density translation of similarities, its aggregation to class scores, and many settings from one density pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, IntArray, as_vectors
from dat_lib.density.threads import in_threads
from dat_lib.scores import TERMS, LogitScores, RatioScores, first_largest, log_sum
from dat_lib.scores import Score as Score
from dat_lib.scores import Terms as Terms
from dat_lib.similarity import cosines

if TYPE_CHECKING:
    import torch

BLOCK_PAIRS = 65_536
"""Pairs of query and group translated at once."""
SMALLEST_SHARE = 512
"""Queries that are not worth a thread of their own."""


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
    queries = as_vectors(queries, "queries")
    class_text = as_vectors(class_text, "class_text", dim=queries.shape[1])
    group_text = as_vectors(group_text, "group_text", ndim=3, dim=queries.shape[1])
    if len(class_text) != len(group_text):
        raise ValueError(f"class_text has {len(class_text)} classes and group_text {len(group_text)}: they must agree")
    together = np.concatenate([class_text[:, None], group_text], axis=1)
    similarity = cosines(queries, together, "queries", "class_text or group_text")
    return Similarities(similarity[:, :, 0], similarity[:, :, 1:])


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

    def take(_: int, block: slice, scores: RatioScores | LogitScores) -> None:
        result[:, block] = scores.unscaled(strength, terms).numpy()

    _visit(similarity, [log_density], score, epsilon, temperature, take)
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

    def take(density: int, block: slice, scores: RatioScores | LogitScores) -> None:
        by_term = scores.at(strengths)
        for position, term in enumerate(terms):
            result[density, :, position, block] = first_largest(by_term[TERMS.index(term)]).numpy()

    _visit(similarity, log_densities, score, epsilon, temperature, take)
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


def _visit(
    similarity: Similarities,
    log_densities: Sequence[FloatArray],
    score: Score,
    epsilon: float,
    temperature: float,
    take: Callable[[int, slice, RatioScores | LogitScores], None],
) -> None:
    """Hand (which density, block of queries, its scores) to `take`, from several threads."""
    import torch

    queries, classes, attributes = similarity.groups.shape
    for log_density in log_densities:
        if log_density.shape != similarity.groups.shape:
            raise ValueError(f"log_density has the shape {log_density.shape} where {similarity.groups.shape} is needed")
    divisor = temperature if score == "logit" else 1.0
    kind = LogitScores if score == "logit" else RatioScores
    share = max(SMALLEST_SHARE, math.ceil(queries / torch.get_num_threads()))
    step = max(1, min(share, BLOCK_PAIRS // (classes * attributes)))

    def work(mine: Iterable[int]) -> None:
        for start in mine:
            block = slice(start, min(start + step, queries))
            groups, of_class = (_reversed(array[block]) / divisor for array in (similarity.groups, similarity.classes))
            for density, log_density in enumerate(log_densities):
                logarithm = log_sum(_reversed(log_density[block]), epsilon)
                take(density, block, kind(groups, of_class, logarithm))

    in_threads(work, range(0, queries, step))


def _reversed(array: FloatArray) -> torch.Tensor:
    """Queries last, attributes first: the order in which sums over attributes run at memory speed."""
    import torch

    return torch.from_numpy(np.array(array.T, dtype=np.float64, order="C"))
