"""Mean-centering, on ZS and on Group Prompt: both modalities shifted to their own mean (appendix of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dat_lib.applicability import NotApplicableError, directions
from dat_lib.arrays import FloatArray, normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.settings import check_settings


@dataclass(frozen=True)
class ZeroShotCentred:
    """z' = normalise(z - mu_I), w' = normalise(w - mu_T); prediction = argmax_y <z', w'_y>.

    The paper does not say where its means come from. Here mu_I is the mean of the unit pool images,
    without any label, and mu_T the mean of the unit prompts that are compared (`text_mean` = "prompts")
    or of a corpus of captions, the role "caption" of the prompt set (`text_mean` = "caption"). With two
    classes and "prompts" the centred prompts are opposite to each other, so that centering is a shift of
    the zero-shot threshold.
    """

    name: ClassVar[str] = "zero_shot_centred"
    title: ClassVar[str] = "ZS+MC"

    text_mean: Literal["prompts", "caption"] = "prompts"

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def needs(self) -> Needs:
        """Class prompts, captions where they give the mean, and the pool without labels."""
        return _needs("class", self.text_mean)

    def predict(self, problem: Problem) -> Prediction:
        """Classify centred queries by the nearest centred class prompt."""
        return _centred(problem, problem.text["class"][:, None], self.text_mean)


@dataclass(frozen=True)
class GroupPromptCentred:
    """Mean-centering, as in `ZeroShotCentred`, of the group prompts; the score of a class is its best group's."""

    name: ClassVar[str] = "group_prompt_centred"
    title: ClassVar[str] = "Group Prompt+MC"

    text_mean: Literal["prompts", "caption"] = "prompts"

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def needs(self) -> Needs:
        """Group prompts, captions where they give the mean, and the pool without labels."""
        return _needs("group", self.text_mean)

    def predict(self, problem: Problem) -> Prediction:
        """Classify centred queries by the nearest centred group prompt."""
        return _centred(problem, problem.text["group"], self.text_mean)


def _needs(role: str, text_mean: str) -> Needs:
    return Needs(text=(role,) if text_mean == "prompts" else (role, "caption"), pool=True, pool_split="train")


def _centred(problem: Problem, text: FloatArray, text_mean: str) -> Prediction:
    """Scores [N, K] for `text` [K, prompts of the class, d]."""
    assert problem.pool is not None
    if not len(problem.pool):
        raise NotApplicableError("the pool is empty, so it has no mean")
    text = normalise(text.astype(np.float64), "prompts")
    bank = text if text_mean == "prompts" else normalise(problem.text["caption"], "captions")
    n_classes, n_prompts, dimension = text.shape
    text_centre = bank.reshape(-1, dimension).mean(axis=0, dtype=np.float64)
    image_centre = normalise(problem.pool, "pool").mean(axis=0, dtype=np.float64)
    queries = normalise(problem.queries, "queries")
    queries = directions(queries - image_centre.astype(queries.dtype), "centred queries", 1.0)
    centred_text = directions(text - text_centre, "centred prompts", 1.0).reshape(-1, dimension)
    cosines = queries @ centred_text.T.astype(queries.dtype)
    scores = cosines.reshape(-1, n_classes, n_prompts).max(axis=2)
    return Prediction(scores.argmax(axis=1), scores, {"image_mean": "pool", "text_mean": text_mean})


METHODS = (ZeroShotCentred, GroupPromptCentred)
