"""Orth-Cali and Orth-Proj: class prompts projected off the spurious directions (Chuang et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from dat_lib.applicability import NotApplicableError, directions
from dat_lib.arrays import FloatArray, normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.settings import check_settings
from dat_lib.methods.support.subspace import orthonormal_basis, project_out


@dataclass(frozen=True)
class OrthProj:
    """Class vector normalise(P_0 q_y) with P_0 = I - V V^T, V an orthonormal basis of the spurious prompts.

    Text only: the images stay as they are. prediction = argmax_y <z, class vector>.
    """

    name: ClassVar[str] = "orth_proj"
    title: ClassVar[str] = "Orth-Proj"
    needs: ClassVar[Needs] = Needs(text=("class", "spurious"), one_by_one=True)

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the nearest projected class prompt."""
        class_text = normalise(problem.text["class"].astype(np.float64), "class prompts")
        return _by_projected_text(problem, class_text)


@dataclass(frozen=True)
class OrthCali:
    """Orth-Proj, calibrated so that prompts of one class in different contexts come close to each other.

    Class vector normalise(P q_y) with P = P_0 (I + strength M)^{-1}, the minimiser of ||P - P_0||^2 +
    strength / |S| sum_{(i,j) in S} ||P c_i - P c_j||^2; M is the mean over S of (c_i - c_j)(c_i - c_j)^T
    and S holds all pairs of candidate prompts of one class. The inverse acts first, then P_0. `strength`
    0 is Orth-Proj and reads no candidates.
    """

    name: ClassVar[str] = "orth_cali"
    title: ClassVar[str] = "Orth-Cali"

    strength: float = 1000.0

    def __post_init__(self) -> None:
        check_settings(self, at_least={"strength": 0})

    @property
    def needs(self) -> Needs:
        """Class and spurious prompts; candidate prompts [K, C] as well unless the strength is 0."""
        candidates = ("candidate",) if self.strength else ()
        return Needs(text=("class", "spurious", *candidates), one_by_one=True)

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the nearest calibrated class prompt."""
        class_text = normalise(problem.text["class"].astype(np.float64), "class prompts")
        if self.strength:
            differences = _pair_differences(problem)
            moments = differences.T @ differences / len(differences)
            calibration = np.eye(len(moments)) + self.strength * moments
            class_text = np.linalg.solve(calibration, class_text.T).T
        return _by_projected_text(problem, class_text)


def _pair_differences(problem: Problem) -> FloatArray:
    """c_i - c_j for all pairs of unit candidate prompts of one class: [pairs, d]."""
    candidates = normalise(problem.text["candidate"].astype(np.float64), "candidate prompts")
    if candidates.ndim != 3 or len(candidates) != problem.n_classes:
        wanted = f"({problem.n_classes}, 2 or more)"
        raise ValueError(f"candidate prompts have the shape {candidates.shape[:-1]}, expected {wanted}")
    if candidates.shape[1] < 2:
        raise NotApplicableError("each class has a single candidate prompt, so there are no pairs to calibrate with")
    pairs = list(combinations(range(candidates.shape[1]), 2))
    first, second = np.array(pairs).T
    return (candidates[:, first] - candidates[:, second]).reshape(-1, candidates.shape[2])


def _by_projected_text(problem: Problem, class_text: FloatArray) -> Prediction:
    dimension = class_text.shape[1]
    spurious = normalise(problem.text["spurious"].reshape(-1, dimension), "spurious prompts")
    basis = orthonormal_basis(spurious)
    lengths = np.linalg.norm(class_text, axis=-1)
    class_vectors = directions(project_out(class_text, basis), "projected class prompts", lengths)
    queries = normalise(problem.queries, "queries")
    scores = queries @ class_vectors.T.astype(queries.dtype)
    return Prediction(scores.argmax(axis=1), scores, {"spurious_rank": len(basis)})


METHODS = (OrthCali, OrthProj)
