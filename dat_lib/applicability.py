"""What a dataset cannot serve: neither a result nor a mistake of the person who asks for it."""

from __future__ import annotations

import numpy as np

from dat_lib.arrays import FloatArray, IntArray, normalise

_ROUNDINGS = 8


class NotApplicableError(Exception):
    """The data lack what the method's name promises to use. The message is the reason, in plain words.

    It is no `ValueError`, so that nobody takes it for bad input: the data are sound and the settings allowed.
    """


def directions(vectors: FloatArray, name: str, scale: float | FloatArray = 0.0) -> FloatArray:
    """`normalise` for vectors that a method has derived from the data, where nothing may remain of one.

    `scale` is the length of what they were derived from: a few roundings of that are nothing, too.

    Raises:
        NotApplicableError: some of them are zero, so the method says nothing about them.
    """
    nothing = np.abs(vectors).max(axis=-1) <= _ROUNDINGS * np.finfo(vectors.dtype).eps * np.asarray(scale)
    if nothing.any():
        raise NotApplicableError(f"nothing remains of {nothing.sum()} of {nothing.size} {name}")
    return normalise(vectors, name)


def one_answer(labels: IntArray) -> None:
    """Refuse references of a single class, given the class of each.

    Raises:
        NotApplicableError: whatever the image is, a method that goes by the references alone would answer that class.
    """
    if len(np.unique(labels)) == 1:
        raise NotApplicableError(f"only class {labels[0]} has references, so every image would be given that class")
