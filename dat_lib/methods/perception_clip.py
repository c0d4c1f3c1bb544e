"""Perception CLIP: infer the context of an image, then classify given the context (An et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dat_lib.arrays import FloatArray, normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.settings import check_settings


@dataclass(frozen=True)
class PerceptionClip:
    """p(y|x) = sum_c p(c|x) p(y|x,c) over contexts c; prediction = argmax_y p(y|x).

    With logits f(y,c) = s <z, w_{y,c}> and s the backbone's logit scale (which matters here, unlike in plain
    zero-shot): p(y|x,c) = softmax_y f(y,c), and with T the temperature

    - `infer` = "class_attribute": p(c|x) is proportional to sum_y exp(f(y,c) / T);
    - `infer` = "attribute": p(c|x) = softmax_c(s <z, w_c> / T), with prompts w_c that name no class.

    Scores are log p(y|x). T = 1 with "class_attribute" is the joint softmax over (y, c) summed over c; a
    large T averages the contexts with equal weight.
    """

    name: ClassVar[str] = "perception_clip"
    title: ClassVar[str] = "Perception CLIP"

    infer: Literal["class_attribute", "attribute"] = "class_attribute"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_settings(self, above={"temperature": 0})

    @property
    def needs(self) -> Needs:
        """Prompts of each class in each context [K, C]; those of the contexts alone [C] where they are used."""
        alone = ("context",) if self.infer == "attribute" else ()
        return Needs(text=("class_context", *alone), one_by_one=True)

    def predict(self, problem: Problem) -> Prediction:
        """Classify by the posterior, with the context summed out in log-space."""
        class_context = problem.text["class_context"]
        if class_context.ndim != 3 or len(class_context) != problem.n_classes:
            raise ValueError(
                f"class_context prompts have the shape {class_context.shape[:-1]}, "
                f"expected ({problem.n_classes}, contexts)"
            )
        queries = normalise(problem.queries, "queries")
        logits = _logits(queries, class_context, problem.logit_scale)
        if self.infer == "class_attribute":
            evidence = _log_sum_exp(logits / self.temperature, axis=1)
        else:
            context = problem.text["context"]
            if len(context) != class_context.shape[1]:
                raise ValueError(f"there are {len(context)} context prompts for {class_context.shape[1]} contexts")
            evidence = _logits(queries, context, problem.logit_scale) / self.temperature
        log_context = evidence - _log_sum_exp(evidence, axis=1)[:, None]
        log_class = logits - _log_sum_exp(logits, axis=1)[:, None]
        scores = _log_sum_exp(log_class + log_context[:, None], axis=2)
        counts = np.bincount(log_context.argmax(axis=1), minlength=class_context.shape[1])
        notes = {"likeliest_context_counts": counts.tolist(), "logit_scale": float(problem.logit_scale)}
        return Prediction(scores.argmax(axis=1), scores, notes, added=("likeliest_context_counts",))


def _logits(queries: FloatArray, text: FloatArray, logit_scale: float) -> FloatArray:
    """[N, ...] scaled cosines in float64."""
    flat = normalise(text, "context prompts").reshape(-1, text.shape[-1]).astype(queries.dtype)
    return (queries @ flat.T).reshape(-1, *text.shape[:-1]).astype(np.float64) * logit_scale


def _log_sum_exp(values: FloatArray, axis: int) -> FloatArray:
    largest = values.max(axis=axis, keepdims=True)
    total: FloatArray = np.log(np.exp(values - largest).sum(axis=axis)) + largest.squeeze(axis)
    return total


METHODS = (PerceptionClip,)
