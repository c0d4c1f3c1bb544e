"""TIE and TIE*: image embeddings moved against the direction of their attribute (Lu et al. 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dat_lib.applicability import NotApplicableError, directions
from dat_lib.arrays import NO_ATTRIBUTE, FloatArray, IntArray, normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.settings import check_settings


@dataclass(frozen=True)
class Tie:
    """z' = z - lambda_a v_a with a the true attribute of the query; prediction = argmax_y <z', w_y>.

    v_a is the unit prompt of attribute a and lambda_a the mean of <z, v_a> over the unit pool images of
    attribute a. The true attribute of every query is read: an oracle, shown with the result. A query
    whose attribute has no prompt, or whose attribute the pool lacks, is not moved; both are counted in
    the notes.

    `normalise_before` = False subtracts from the raw embedding, which divides the shift by the
    embedding's length: so did the published CelebA code, against the paper's formula.
    """

    name: ClassVar[str] = "tie"
    title: ClassVar[str] = "TIE"
    needs: ClassVar[Needs] = Needs(
        text=("class", "attribute"), test_attributes=True, pool=True, pool_attributes=True, pool_split="train"
    )

    normalise_before: bool = True

    def __post_init__(self) -> None:
        check_settings(self)

    def predict(self, problem: Problem) -> Prediction:
        """Classify the queries moved by their true attributes."""
        assert problem.query_attributes is not None
        assert problem.pool_attributes is not None
        attribute_text = _attribute_text(problem)
        return _moved(problem, attribute_text, problem.query_attributes, problem.pool_attributes, self.normalise_before)


@dataclass(frozen=True)
class TieStar:
    """TIE with the attribute inferred, argmax_a <z, v_a>, for the pool as for the queries; no oracle.

    `normalise_before` as for TIE.
    """

    name: ClassVar[str] = "tie_star"
    title: ClassVar[str] = "TIE*"
    needs: ClassVar[Needs] = Needs(text=("class", "attribute"), pool=True, pool_split="train")

    normalise_before: bool = True

    def __post_init__(self) -> None:
        check_settings(self)

    def predict(self, problem: Problem) -> Prediction:
        """Classify the queries moved by their inferred attributes."""
        assert problem.pool is not None
        attribute_text = _attribute_text(problem)
        query_attributes = (problem.queries @ attribute_text.T).argmax(axis=1)
        pool_attributes = (problem.pool @ attribute_text.T).argmax(axis=1)
        prediction = _moved(problem, attribute_text, query_attributes, pool_attributes, self.normalise_before)
        counts = {
            "inferred_query_attributes": np.bincount(query_attributes, minlength=problem.n_attributes).tolist(),
            "inferred_pool_attributes": np.bincount(pool_attributes, minlength=problem.n_attributes).tolist(),
        }
        return Prediction(prediction.labels, prediction.scores, {**prediction.notes, **counts})


def translation_scales(pool: FloatArray, pool_attributes: IntArray, attribute_text: FloatArray) -> list[float | None]:
    """lambda_a for each attribute, None where the pool has no image of it.

    `pool` [P, d] may be of any length; `attribute_text` [M, d] must be of unit length.
    """
    scales: list[float | None] = []
    for attribute, direction in enumerate(attribute_text):
        images = pool[pool_attributes == attribute]
        cosines = normalise(images, "pool") @ direction
        scales.append(float(cosines.mean(dtype=np.float64)) if len(cosines) else None)
    return scales


def _attribute_text(problem: Problem) -> FloatArray:
    return normalise(problem.text["attribute"], "attribute prompts").astype(problem.queries.dtype)


def _moved(
    problem: Problem,
    attribute_text: FloatArray,
    query_attributes: IntArray,
    pool_attributes: IntArray,
    normalise_before: bool,
) -> Prediction:
    assert problem.pool is not None
    scales = translation_scales(problem.pool, pool_attributes, attribute_text)
    if all(scale is None for scale in scales):
        raise NotApplicableError("no image of the pool has an attribute, so there is nothing to move by")
    shifts = attribute_text * np.array([scale or 0.0 for scale in scales], attribute_text.dtype)[:, None]
    queries = normalise(problem.queries, "queries") if normalise_before else problem.queries
    known = query_attributes != NO_ATTRIBUTE
    moved = queries - np.where(known[:, None], shifts[query_attributes], 0)
    lengths = np.linalg.norm(queries, axis=-1)
    scores = directions(moved, "moved queries", lengths) @ normalise(problem.text["class"], "class prompts").T
    notes: dict[str, Any] = {"scales": scales}
    if not known.all():
        notes["queries_without_attribute"] = int((~known).sum())
    if None in scales:
        notes["attributes_without_scale"] = [attribute for attribute, scale in enumerate(scales) if scale is None]
    return Prediction(scores.argmax(axis=1), scores, notes)


METHODS = (Tie, TieStar)
