"""Opening a dataset's images or embeddings: which loader it is, is part of the cell."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dat_lib.datasets.images import ImageDataset
from dat_lib.datasets.source import DataError, EmbeddingSource
from tasks.step import Work


def open_source(work: Work) -> EmbeddingSource:
    """Open the source that the cell's `loader` module offers, with its settings, facts and resources."""
    loader = importlib.import_module(work.params["loader"])
    with _fitting(loader.__name__):
        source: EmbeddingSource = loader.open_source(**work.params["settings"], **work.facts, **work.resources)
    return source


def open_dataset(params: Mapping[str, Any], root: str | None) -> ImageDataset:
    """Open the images that a cell's `loader` module reads from a folder, with its settings."""
    loader = importlib.import_module(params["loader"])
    with _fitting(loader.__name__):
        dataset: ImageDataset = loader.open_dataset(root, **params["settings"])
    return dataset


@contextmanager
def _fitting(loader: str) -> Iterator[None]:
    """Settings come from a spec: those that a loader does not have, or cannot use, are no fault of ours."""
    try:
        yield
    except (TypeError, OverflowError, MemoryError) as error:
        kind = loader.rpartition(".")[2]
        raise DataError(f"the settings of the dataset's source do not fit {kind}: {error}") from error
