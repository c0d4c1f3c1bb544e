"""Opening the source of a dataset's embeddings: which loader it is, is part of the cell."""

import importlib

from dat_lib.datasets.source import EmbeddingSource
from tasks.step import Work


def open_source(work: Work) -> EmbeddingSource:
    """Open the source that the cell's `loader` module offers, with its settings, facts and resources."""
    loader = importlib.import_module(work.params["loader"])
    source: EmbeddingSource = loader.open_source(**work.params["settings"], **work.facts, **work.resources)
    return source
