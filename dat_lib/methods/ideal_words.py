"""Ideal words: class vectors with the attribute averaged out (Trager et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dat_lib.applicability import directions
from dat_lib.arrays import normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.settings import check_settings


@dataclass(frozen=True)
class IdealWords:
    """Group prompts u_{y,a} are read as u_0 + u_y + u_a, and the part of the attribute is dropped.

    u_0 is the mean over all groups and u_y = mean_a u_{y,a} - u_0, so the class vector is
    c_y = u_0 + u_y = mean_a u_{y,a}; prediction = argmax_y <z, c_y / ||c_y||>.

    `normalise_before` puts the group prompts to unit length before averaging. `vector` is "sum" for u_0 +
    u_y or "word" for u_y alone: before normalisation both give the same argmax, after it they do not.
    """

    name: ClassVar[str] = "ideal_words"
    title: ClassVar[str] = "Ideal words"
    needs: ClassVar[Needs] = Needs(text=("group",), one_by_one=True)

    normalise_before: bool = True
    vector: Literal["sum", "word"] = "sum"

    def __post_init__(self) -> None:
        check_settings(self)

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the nearest attribute-free class vector."""
        group_text = problem.text["group"]
        if self.normalise_before:
            group_text = normalise(group_text, "group prompts")
        class_vectors = group_text.mean(axis=1)
        if self.vector == "word":
            class_vectors = class_vectors - group_text.mean(axis=(0, 1))
        scores = (
            normalise(problem.queries, "queries")
            @ directions(class_vectors, "ideal words", np.linalg.norm(group_text, axis=-1).mean()).T
        )
        return Prediction(scores.argmax(axis=1), scores)


METHODS = (IdealWords,)
