"""The attribute of each sample as attribute prompts tell it, which places the references of DAT*.

It is told for the samples of every split, so that a sample that changes its split or its label is not told again.
"""

import numpy as np
import pyarrow as pa

from dat_lib.attributes import infer_attributes
from tasks.step import Output, Work
from tasks.tables.blocks import vector_blocks
from tasks.tables.prompt_vectors import prompt_vectors

IN_PARTS = ("image_embeddings",)


def compute(work: Work) -> Output:
    """Return one row an embedded sample: the attribute, and by how much its prompt is nearer than the next."""
    images = work.inputs["image_embeddings"]
    text = prompt_vectors({"attribute": work.params["text"]}, work.inputs["text_embeddings"])["attribute"]
    blocks = vector_blocks(images, np.ones(images.num_rows, dtype=bool))
    inferred = [infer_attributes(block, text) for block in blocks]
    attributes = np.concatenate([block.attributes for block in inferred])
    table = pa.table(
        {
            "sample_id": images.column("sample_id"),
            "attribute": pa.array(attributes.astype(np.int32)),
            "margin": pa.array(np.concatenate([block.margin for block in inferred])),
        }
    )
    return Output(table, {"samples": np.bincount(attributes, minlength=len(text)).tolist()})
