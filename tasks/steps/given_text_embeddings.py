"""The raw vectors of prompts by a backbone."""

import pyarrow as pa

from tasks.loaders import open_source
from tasks.step import Output, Work
from tasks.tables.columns import vector_column


def compute(work: Work) -> Output:
    """Return one row a prompt."""
    prompts = list(work.params["prompts"])
    vectors = open_source(work).texts(prompts)
    table = pa.table({"prompt": pa.array(prompts, pa.string()), "embedding": vector_column(vectors)})
    return Output(table, {"dimension": vectors.shape[1]})
