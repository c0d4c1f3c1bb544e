"""The samples that have an embedding, and their vectors."""

from typing import Any

import numpy as np
import pyarrow as pa

from tasks.columns import texts
from tasks.step import Work


def embedded_samples(work: Work) -> tuple[pa.Table, dict[str, Any]]:
    """Return the samples that have an embedding, in the order of the embeddings, and a note on those that have none.

    Embeddings may lack the few images that were unreadable and tolerated.
    """
    samples = work.inputs["samples"]
    embedded = np.isin(texts(samples, "sample_id"), texts(work.inputs["image_embeddings"], "sample_id"))
    kept = samples.filter(pa.array(embedded))
    if not kept.column("sample_id").equals(work.inputs["image_embeddings"].column("sample_id")):
        raise ValueError("the image embeddings are not those of the dataset's samples")
    if embedded.all():
        return kept, {}
    splits, counts = np.unique(texts(samples, "split")[~embedded], return_counts=True)
    return kept, {"samples_without_embedding": dict(zip(splits.tolist(), counts.tolist(), strict=True))}
