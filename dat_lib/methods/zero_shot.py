"""ZS: plain zero-shot classification (Radford et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dat_lib.arrays import normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem


@dataclass(frozen=True)
class ZeroShot:
    """prediction = argmax_y <z, w_y>, with z and w_y of unit length.

    A temperature or softmax would not change the argmax, so scores are the cosines.
    """

    name: ClassVar[str] = "zero_shot"
    title: ClassVar[str] = "ZS"
    needs: ClassVar[Needs] = Needs(text=("class",), one_by_one=True)

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the nearest class prompt."""
        class_text = normalise(problem.text["class"], "class prompts")
        scores = normalise(problem.queries, "queries") @ class_text.T
        return Prediction(scores.argmax(axis=1), scores)


METHODS = (ZeroShot,)
