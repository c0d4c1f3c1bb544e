"""Which samples belong to a split."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dat_lib.arrays import BoolArray


def of_split(samples: pa.Table, split: str | None) -> BoolArray:
    """Return at which rows samples of a split are; of None there are none."""
    if split is None:
        return np.zeros(samples.num_rows, dtype=bool)
    found: BoolArray = pc.equal(samples.column("split"), split).to_numpy().astype(bool)
    return found


def test_rows(samples: pa.Table) -> BoolArray:
    """Return at which rows the test samples are; `ValueError` when there are none."""
    test = of_split(samples, "test")
    if not test.any():
        raise ValueError("the dataset has no test samples")
    return test
