"""The samples of a dataset of images: id, split, class, attribute and file."""

import importlib

import numpy as np
import pyarrow as pa

from dat_lib.datasets.images import ImageDataset, overlap
from tasks.samples import samples_table
from tasks.step import Output, Work


def compute(work: Work) -> Output:
    """Return one row a sample; the summary counts splits and, for each split, the test samples that are also in it."""
    loader = importlib.import_module(work.params["loader"])
    dataset: ImageDataset = loader.open_dataset(work.resources["root"], **work.params["settings"])
    samples = dataset.samples()
    table = samples_table(samples).append_column("file", pa.array(samples.files.tolist(), pa.string()))
    splits, counts = np.unique(samples.split, return_counts=True)
    shared = {split: int(overlap(samples, split).sum()) for split in ("train", "val")}
    summary = {
        "splits": dict(zip(splits.tolist(), counts.tolist(), strict=True)),
        "test_samples_also_in": {split: count for split, count in shared.items() if count},
    }
    return Output(table, summary)
