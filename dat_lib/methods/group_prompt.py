"""Group Prompt: zero-shot classification over the prompts of all groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dat_lib.arrays import normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.settings import check_settings


@dataclass(frozen=True)
class GroupPrompt:
    """prediction = class of argmax_{y,a} <z, w_{y,a}>, so the score of a class is max_a <z, w_{y,a}>.

    `roboshot_bug` repeats a slip in RoboShot's published code: its fourth Waterbirds prompt (waterbird,
    water) is a copy of its second (landbird, water). Ties go to the first group, so no query can reach
    the fourth. For comparison with their numbers only; it exists for two classes and two attributes.
    """

    name: ClassVar[str] = "group_prompt"
    title: ClassVar[str] = "Group Prompt"
    needs: ClassVar[Needs] = Needs(text=("group",), one_by_one=True)

    roboshot_bug: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the nearest group prompt."""
        group_text = normalise(problem.text["group"], "group prompts")
        notes = {}
        if self.roboshot_bug:
            if group_text.shape[:2] != (2, 2):
                raise ValueError(f"roboshot_bug is about 2 x 2 groups, not {group_text.shape[:2]}")
            group_text[1, 1] = group_text[0, 1]
            notes["roboshot_bug"] = True
        n_classes, n_attributes, dimension = group_text.shape
        cosines = normalise(problem.queries, "queries") @ group_text.reshape(-1, dimension).T
        scores = cosines.reshape(-1, n_classes, n_attributes).max(axis=2)
        return Prediction(scores.argmax(axis=1), scores, notes)


METHODS = (GroupPrompt,)
