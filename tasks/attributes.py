"""The attribute of each sample as attribute prompts tell it, which places the references of DAT*.

It is told for the samples of every split, so that a sample that changes its split or its label is not told again.
"""

import numpy as np
import pyarrow as pa

from dat_lib.attributes import infer_attributes
from tasks.columns import vectors_of
from tasks.prompt_vectors import prompt_vectors
from tasks.step import Output, Work


def compute(work: Work) -> Output:
    """Return one row an embedded sample: the attribute, and by how much its prompt is nearer than the next."""
    images = work.inputs["image_embeddings"]
    text = prompt_vectors({"attribute": work.params["text"]}, work.inputs["text_embeddings"])["attribute"]
    inferred = infer_attributes(vectors_of(images), text)
    table = pa.table(
        {
            "sample_id": images.column("sample_id"),
            "attribute": pa.array(inferred.attributes.astype(np.int32)),
            "margin": pa.array(inferred.margin),
        }
    )
    return Output(table, {"samples": np.bincount(inferred.attributes, minlength=len(text)).tolist()})
