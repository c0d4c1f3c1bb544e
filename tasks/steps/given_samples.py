"""The samples of a dataset: id, split, class and attribute."""

import numpy as np
import pyarrow as pa

from dat_lib.datasets.source import Samples
from tasks.loaders import open_source
from tasks.step import Output, Work


def compute(work: Work) -> Output:
    """Return one row a sample."""
    samples = open_source(work).samples()
    splits, counts = np.unique(samples.split, return_counts=True)
    return Output(samples_table(samples), {"splits": dict(zip(splits.tolist(), counts.tolist(), strict=True))})


def samples_table(samples: Samples) -> pa.Table:
    """Return samples as a table."""
    return pa.table(
        {
            "sample_id": pa.array(samples.sample_ids.tolist(), pa.string()),
            "split": pa.array(samples.split.tolist(), pa.string()),
            "label": pa.array(samples.labels.astype(np.int32)),
            "attribute": pa.array(samples.attributes.astype(np.int32)),
        }
    )
