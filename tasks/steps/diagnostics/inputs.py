"""What diagnostics share: samples of a split with their vectors, prompts by role, and the words of groups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dat_lib.applicability import NotApplicableError
from dat_lib.arrays import FloatArray, IdArray, IntArray
from tasks.step import Output, Work
from tasks.tables.blocks import vectors_where
from tasks.tables.columns import integers, texts
from tasks.tables.embedded import embedded_samples
from tasks.tables.prompt_vectors import prompt_vectors
from tasks.tables.splits import of_split


@dataclass(frozen=True)
class SplitSamples:
    """The embedded samples of one split."""

    ids: IdArray
    vectors: FloatArray
    labels: IntArray
    attributes: IntArray
    files: list[str | None]
    """Where images are at hand."""


def samples_of(work: Work, split: str) -> SplitSamples:
    """Return the samples of a split; `NotApplicableError` when it has none."""
    samples, _ = embedded_samples(work)
    chosen = of_split(samples, split)
    if not chosen.any():
        raise NotApplicableError(f"the split {split} has no samples")
    part = samples.filter(pa.array(chosen))
    files = part.column("file").to_pylist() if "file" in part.column_names else [None] * part.num_rows
    return SplitSamples(
        texts(part, "sample_id"),
        vectors_where(work.inputs["image_embeddings"], chosen),
        integers(part, "label"),
        integers(part, "attribute"),
        files,
    )


def vectors_by_role(work: Work) -> dict[str, FloatArray]:
    """Return the vectors of the prompts that the cell lists, by role."""
    return prompt_vectors(work.params["text"], work.inputs["text_embeddings"])


def prompt_rows(work: Work) -> tuple[list[str], list[str], FloatArray]:
    """Return role, wording and vector of each prompt that the cell lists, one row each; variants count as one."""
    found = vectors_by_role(work)
    roles, words, vectors = list[str](), list[str](), list[npt.NDArray[Any]]()
    for role, text in work.params["text"].items():
        wordings = list(_wordings(text))
        roles += [role] * len(wordings)
        words += wordings
        vectors.append(found[role].reshape(len(wordings), -1))
    return roles, words, np.concatenate(vectors)


def group_names(work: Work, labels: Sequence[int], attributes: Sequence[int]) -> list[str]:
    """Return groups in words, such as `landbird, water`; empty for what is no group."""
    classes, words = work.params["classes"], work.params["attributes"]
    return [
        f"{classes[y]}, {words[a] if a >= 0 else 'other'}" if y >= 0 else ""
        for y, a in zip(labels, attributes, strict=True)
    ]


def in_one_go(work: Work, tables: Mapping[str, Callable[[], pa.Table]], **summary: Any) -> Output:
    """Return the table that the cell asks for, and those of the cells that are asked for together."""
    first, *others = (Output(tables[params["table"]](), dict(summary)) for params in (work.params, *work.together))
    return Output(first.table, first.summary, tuple(others))


def _wordings(text: Any) -> list[str]:
    if isinstance(text, str):
        return [text]
    if isinstance(text, Mapping):
        return ["; ".join(text["variants"])]
    return [wording for part in text for wording in _wordings(part)]
