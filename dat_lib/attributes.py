"""Attributes inferred from attribute prompts, for DAT*."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, IntArray
from dat_lib.similarity import cosines


@dataclass(frozen=True)
class InferredAttributes:
    """The result of `infer_attributes`."""

    attributes: IntArray
    """[P]"""
    margin: FloatArray
    """[P] cosine of the chosen prompt minus that of the next best; infinite where there is one attribute only."""


def infer_attributes(embeddings: npt.ArrayLike, attribute_text: npt.ArrayLike) -> InferredAttributes:
    """The attribute whose prompt [M, d] is nearest to each image [P, d]: argmax_a <z, w_a>, ties to the first."""
    similarity = cosines(embeddings, attribute_text, "embeddings", "attribute_text")
    attributes = similarity.argmax(axis=1)
    if similarity.shape[1] == 1:
        return InferredAttributes(attributes, np.full(len(similarity), np.inf, dtype=similarity.dtype))
    second, first = np.partition(similarity, -2, axis=1)[:, -2:].T
    return InferredAttributes(attributes, first - second)
