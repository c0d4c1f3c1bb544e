"""Opening a dataset's images or embeddings: of which kind it is, is part of the cell."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dat_lib.datasets.images import ImageDataset
from dat_lib.datasets.registry import DATASETS
from dat_lib.datasets.source import DataError, EmbeddingSource
from tasks.step import Work


def open_source(work: Work) -> EmbeddingSource:
    """Open the embeddings that the cell's kind of dataset gives, with its settings, facts and resources."""
    kind = work.params["kind"]
    with _fitting(kind):
        settings = work.params["settings"]
        source: EmbeddingSource = DATASETS.module(kind).open_source(**settings, **work.facts, **work.resources)
    return source


def open_dataset(params: Mapping[str, Any], root: str | None) -> ImageDataset:
    """Open the images that a cell's kind of dataset reads from a folder, with its settings."""
    with _fitting(params["kind"]):
        dataset: ImageDataset = DATASETS.module(params["kind"]).open_dataset(root, **params["settings"])
    return dataset


@contextmanager
def _fitting(kind: str) -> Iterator[None]:
    """Settings come from a spec: those that a loader does not have, or cannot use, are no fault of ours."""
    try:
        yield
    except (TypeError, OverflowError, MemoryError) as error:
        raise DataError(f"the settings of the dataset's source do not fit {kind}: {error}") from error
