"""Whitening, on ZS and on Group Prompt: the global covariance of the embeddings removed (appendix of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dat_lib.applicability import NotApplicableError, directions
from dat_lib.arrays import FloatArray, normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.settings import check_settings

BLOCK = 8192
"""Rows whose second moments are summed at a time in float64."""


@dataclass(frozen=True)
class ZeroShotWhitened:
    """z' = normalise(W (z - mu_I)), w' = normalise(W_T (w - mu_T)); prediction = argmax_y <z', w'_y>.

    W = (Sigma + rho I)^{-1/2} is symmetric (ZCA), so the axes keep their meaning across modalities, which
    a whitening by principal components would not grant. The paper gives no statistics. Here mu_I and
    Sigma are those of the unit pool images, without any label, and mu_T is the mean of the unit prompts
    that are compared. A few prompts have a rank-deficient covariance, so by default the text is whitened
    with the images' W (`text_covariance` = "image"); "prompts" uses the prompts' own. rho = `ridge` times
    the mean eigenvalue of the covariance it is added to.
    """

    name: ClassVar[str] = "zero_shot_whitened"
    title: ClassVar[str] = "ZS+W"
    needs: ClassVar[Needs] = Needs(text=("class",), pool=True, pool_split="train")

    ridge: float = 1e-3
    text_covariance: Literal["image", "prompts"] = "image"

    def __post_init__(self) -> None:
        check_settings(self, at_least={"ridge": 0})

    def predict(self, problem: Problem) -> Prediction:
        """Classify whitened queries by the nearest whitened class prompt."""
        return _whitened(problem, problem.text["class"][:, None], self.ridge, self.text_covariance)


@dataclass(frozen=True)
class GroupPromptWhitened:
    """Whitening, as in `ZeroShotWhitened`, of the group prompts; the score of a class is its best group's."""

    name: ClassVar[str] = "group_prompt_whitened"
    title: ClassVar[str] = "Group Prompt+W"
    needs: ClassVar[Needs] = Needs(text=("group",), pool=True, pool_split="train")

    ridge: float = 1e-3
    text_covariance: Literal["image", "prompts"] = "image"

    def __post_init__(self) -> None:
        check_settings(self, at_least={"ridge": 0})

    def predict(self, problem: Problem) -> Prediction:
        """Classify whitened queries by the nearest whitened group prompt."""
        return _whitened(problem, problem.text["group"], self.ridge, self.text_covariance)


def mean_and_whitening(vectors: FloatArray, ridge: float, name: str) -> tuple[FloatArray, FloatArray]:
    """The mean [d] and W = (Sigma + rho I)^{-1/2} [d, d] of the rows of `vectors`, in float64.

    Sigma is the population covariance; rho = ridge tr(Sigma) / d.

    Raises:
        ValueError: the covariance is singular and `ridge` too small to mend it.
        NotApplicableError: the rows are none, or all the same, so that there is no covariance.
    """
    count, dimension = vectors.shape
    if not count:
        raise NotApplicableError(f"the {name} is empty, so it has no covariance")
    mean = vectors.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((dimension, dimension))
    for start in range(0, count, BLOCK):
        centred = vectors[start : start + BLOCK].astype(np.float64) - mean
        covariance += centred.T @ centred / count
    eigenvalues, axes = np.linalg.eigh(covariance)
    if eigenvalues[-1] <= np.finfo(np.float32).eps ** 2:
        raise NotApplicableError(f"all {count} vectors of the {name} are the same, so they have no covariance")
    eigenvalues = eigenvalues.clip(min=0) + ridge * eigenvalues.clip(min=0).mean()
    if eigenvalues[0] <= eigenvalues[-1] * dimension * np.finfo(np.float64).eps:
        raise ValueError(f"the covariance of {name} is singular with ridge = {ridge}: give a larger ridge")
    return mean, (axes / np.sqrt(eigenvalues)) @ axes.T


def _whitened(problem: Problem, text: FloatArray, ridge: float, text_covariance: str) -> Prediction:
    """Scores [N, K] for `text` [K, prompts of the class, d]."""
    assert problem.pool is not None
    n_classes, n_prompts, dimension = text.shape
    prompts = normalise(text.astype(np.float64), "prompts").reshape(-1, dimension)
    image_mean, image_whitening = mean_and_whitening(normalise(problem.pool, "pool"), ridge, "pool")
    text_mean, text_whitening = prompts.mean(axis=0), image_whitening
    if text_covariance == "prompts":
        text_mean, text_whitening = mean_and_whitening(prompts, ridge, "prompts")
    queries = normalise(problem.queries, "queries")
    queries = (queries - image_mean.astype(queries.dtype)) @ image_whitening.astype(queries.dtype)
    whitened_text = directions((prompts - text_mean) @ text_whitening, "whitened prompts")
    cosines = directions(queries, "whitened queries") @ whitened_text.T.astype(queries.dtype)
    scores = cosines.reshape(-1, n_classes, n_prompts).max(axis=2)
    notes = {"image_statistics": "pool", "text_mean": "prompts", "text_covariance": text_covariance}
    return Prediction(scores.argmax(axis=1), scores, notes)


METHODS = (ZeroShotWhitened, GroupPromptWhitened)
