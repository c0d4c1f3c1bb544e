"""Memory against the number of samples.

One million queries streamed from Parquet through DAT by hand: resident memory after each tenth, and queries a second.
And `dat run` of DAT on imported embeddings that are larger than the memory it may read them into: the peak of the
command for some samples and for four times as many, from choosing the references to the metrics.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from dat_lib.estimator import DAT
from dat_lib.toyworld.simulation import simulate
from tests.benchmarks.timing import DAT as COMMAND
from tests.benchmarks.timing import Row, command, hand_on
from tests.conftest import PROMPTS, write_world

QUERIES, BLOCK = 1_000_000, 16_384
SAMPLES, TIMES, DIM, POOL = 150_000, 4, 128, 4800
_TELL_PEAK = """
import atexit, re, sys
status = lambda: open("/proc/self/status").read()
atexit.register(lambda: print(re.search(r"VmHWM:\\s+(\\d+) kB", status()).group(1)))
from flows.cli import main
main()
"""


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--dim", type=int, default=64)
    options = parser.parse_args()
    by_hand(round(QUERIES * options.scale), options.dim)
    by_command(round(SAMPLES * options.scale))


def by_command(count):
    few, many = (peak_of_run(samples) for samples in (count, TIMES * count))
    further = (many - few) / ((TIMES - 1) * count)
    few_told, many_told = f"{few / 2**20:.0f} MiB for {count:,}", f"{many / 2**20:.0f} MiB for {TIMES * count:,}"
    print(f"`dat run` of DAT, peak: {few_told} test samples, {many_told}:")
    print(f"  {further:.0f} bytes a further sample, whose vector has {4 * DIM}")
    hand_on(
        [
            Row(
                f"peak memory of `dat run` of DAT, {TIMES} times the samples",
                many_told,
                few_told,
                many / few,
                at_most=1.1,
                note=f"{further:.0f} bytes a further sample (name, class, prediction), whose vector has {4 * DIM}",
            )
        ]
    )


def peak_of_run(samples):
    """The most memory, in bytes, that the command holds while it scores imported embeddings."""
    with tempfile.TemporaryDirectory(prefix="dat-bench-") as name:
        folder = Path(name)
        (folder / "export").mkdir()
        write_world(folder / "export", simulate(seed=0, dim=DIM, train=POOL, val=100, test=samples))
        (folder / "export" / "prompts.toml").write_text(PROMPTS)
        settings = {"DAT_HOME": str(folder / "home"), "DAT_RUNNER": "inline", "DAT_REPORT": "false"}
        environment = {**os.environ, **settings, "DAT_INPUT_MEMORY": "16"}
        names = ["--dataset", "large", "--backbone", "any"]
        command([COMMAND, "import", "embeddings", "export", *names], environment=environment, folder=folder)()
        words = [sys.executable, "-c", _TELL_PEAK, "run", *names, "--method", "dat"]
        return 1024 * int(command(words, environment=environment, folder=folder)().split()[-1])


def by_hand(count, dim):
    world = simulate(seed=0, dim=dim)
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
        print(f"{count:,} queries, d={dim}, {path.stat().st_size / 2**20:.0f} MiB of Parquet")
        model.predict(next(read_queries(path, dim)))
        resident, classes, done = [], np.zeros(2, np.int64), 0
        start = time.perf_counter()
        for block in read_queries(path, dim):
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
