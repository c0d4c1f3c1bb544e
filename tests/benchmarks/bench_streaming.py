"""One million queries streamed from Parquet through DAT: resident memory after each tenth, and queries a second."""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from dat_lib.estimator import DAT
from dat_lib.simulation import simulate
from tests.benchmarks.timing import Row, hand_on

QUERIES, BLOCK = 1_000_000, 16_384


def write_queries(path, world, count):
    """Images of the test split with a little noise, over and over, a block at a time."""
    rng = np.random.default_rng(0)
    images = world.embeddings[world.part("test")]
    dim = images.shape[1]
    schema = pa.schema([("embedding", pa.list_(pa.float32(), dim))])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, count, BLOCK):
            rows = min(BLOCK, count - start)
            block = images[rng.integers(len(images), size=rows)] + rng.normal(0, 0.1, (rows, dim))
            flat = pa.array(block.astype(np.float32).ravel())
            writer.write_table(pa.table([pa.FixedSizeListArray.from_arrays(flat, dim)], schema=schema))


def read_queries(path, dim):
    for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(batch_size=BLOCK):
        yield batch.column(0).flatten().to_numpy().reshape(-1, dim)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--dim", type=int, default=64)
    options = parser.parse_args()
    count = round(QUERIES * options.scale)
    world = simulate(seed=0, dim=options.dim)
    train = world.part("train")
    model = DAT(working_memory=64).fit(
        world.embeddings[train],
        world.labels[train],
        world.attributes[train],
        class_text=world.text["class"],
        group_text=world.text["group"],
    )
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.parquet"
        write_queries(path, world, count)
        print(f"{count:,} queries, d={options.dim}, {path.stat().st_size / 2**20:.0f} MiB of Parquet")
        model.predict(next(read_queries(path, options.dim)))
        resident, classes, done = [], np.zeros(2, np.int64), 0
        start = time.perf_counter()
        for block in read_queries(path, options.dim):
            classes += np.bincount(model.predict(block), minlength=2)
            done += len(block)
            if done * 10 >= count * (len(resident) + 1):
                resident.append(process.memory_info().rss / 2**20)
                print(f"  {done:>9,} queries: {resident[-1]:7.0f} MiB resident")
        elapsed = time.perf_counter() - start
    assert classes.sum() == count
    print(f"{count / elapsed:,.0f} queries a second")
    growth = resident[-1] / resident[0]
    print(f"resident memory, last tenth / first tenth: {growth:.3f}")
    last, first = (f"{resident[at]:.0f} MiB after {of:,}" for at, of in ((-1, count), (0, count // 10)))
    hand_on([Row("memory of scoring against the number of samples", last, first, growth, at_most=1.1)])


if __name__ == "__main__":
    main()
