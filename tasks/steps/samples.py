"""The samples of a dataset of images: id, split, class, attribute and file."""

import numpy as np
import pyarrow as pa

from dat_lib.datasets.images import overlap
from dat_lib.datasets.source import DataError
from tasks.loaders import open_dataset
from tasks.source_facts import unchanged
from tasks.step import Output, Work
from tasks.steps.given_samples import samples_table


def compute(work: Work) -> Output:
    """Return one row per sample; the summary counts splits and, for each, the test samples that are also in it."""
    dataset = open_dataset(work.params, work.resources["root"])
    samples = dataset.samples()
    table = samples_table(samples).append_column("file", pa.array(samples.files.tolist(), pa.string()))
    if work.facts and not unchanged("samples", work.params, work.resources, work.facts):
        raise DataError(f"{work.resources['root']}: has changed since the run began; run again")
    splits, counts = np.unique(samples.split, return_counts=True)
    shared = {split: int(overlap(samples, split).sum()) for split in ("train", "val")}
    summary = {
        "splits": dict(zip(splits.tolist(), counts.tolist(), strict=True)),
        "test_samples_also_in": {split: count for split, count in shared.items() if count},
    }
    return Output(table, summary)
