"""What a dataset hands on: samples, and their vectors and those of prompts by one backbone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dat_lib.arrays import FloatArray, IdArray, IntArray

SPLITS = ("train", "val", "test")


class DataError(ValueError):
    """Files that somebody gave cannot be used; the message says which, where and why."""


@dataclass(frozen=True)
class Samples:
    """P samples with a class and a spurious attribute each."""

    sample_ids: IdArray
    """[P] texts, distinct within a split; the same id in two splits is the same image."""
    split: IdArray
    """[P] "train", "val" or "test"."""
    labels: IntArray
    """[P]"""
    attributes: IntArray
    """[P]"""


class EmbeddingSource(Protocol):
    """Embeddings of one dataset by one backbone. A loader module offers `open_source(...)`, which returns one."""

    def samples(self) -> Samples:
        """Return all samples of all splits."""
        ...

    def images(self) -> FloatArray:
        """Return [P, d] raw image embeddings, in the order of the samples."""
        ...

    def texts(self, prompts: Sequence[str]) -> FloatArray:
        """Return [len(prompts), d] raw vectors of the prompts."""
        ...
