"""The samples that have an embedding."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.step import Work


def embedded_samples(work: Work) -> tuple[pa.Table, dict[str, Any]]:
    """Return the samples that have an embedding, in the order of the embeddings, and a note on those that have none.

    Embeddings may lack the few images that were unreadable and tolerated.
    """
    samples, ids = work.inputs["samples"], work.inputs["image_embeddings"].column("sample_id")
    if samples.column("sample_id").equals(ids):
        return samples, {}
    embedded = pc.is_in(samples.column("sample_id"), value_set=ids.combine_chunks())
    kept = samples.filter(embedded)
    if not kept.column("sample_id").equals(ids):
        raise ValueError("the image embeddings are not those of the dataset's samples")
    splits = samples.filter(pc.invert(embedded)).column("split").to_numpy()
    names, counts = np.unique(splits.astype(np.str_), return_counts=True)
    return kept, {"samples_without_embedding": dict(zip(names.tolist(), counts.tolist(), strict=True))}
