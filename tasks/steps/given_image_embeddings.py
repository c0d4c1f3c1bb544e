"""The raw image embeddings of a dataset by a backbone."""

import pyarrow as pa

from tasks.loaders import open_source
from tasks.step import Output, Work
from tasks.tables.columns import vector_column


def compute(work: Work) -> Output:
    """Return one row a sample, in the order of the samples."""
    source = open_source(work)
    vectors = source.images()
    ids = pa.array(source.samples().sample_ids.tolist(), pa.string())
    table = pa.table({"sample_id": ids, "embedding": vector_column(vectors)})
    return Output(table, {"dimension": vectors.shape[1]})
