"""CelebA-shaped herding: 128 of each of 4 groups from 162,770 x 512, and beside the literal loop on a small case."""

import argparse
import time

import numpy as np

from dat_lib.arrays import normalise
from dat_lib.herding import herd
from tests.benchmarks.timing import Row, hand_on

GROUPS = (71_629, 66_874, 22_880, 1_387)
DIM, CHOSEN = 512, 128


def literal_loop(pool, n):
    """argmin over all rows of || mu - (z + S) / k ||, each distance by itself."""
    mean, total, chosen = pool.mean(axis=0), np.zeros(pool.shape[1]), []
    for k in range(1, n + 1):
        distances = [np.inf if i in chosen else np.linalg.norm(mean - (z + total) / k) for i, z in enumerate(pool)]
        chosen.append(int(np.argmin(distances)))
        total += pool[chosen[-1]]
    return chosen


def seconds(action):
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows of each group")
    options = parser.parse_args()
    rng = np.random.default_rng(0)

    small = normalise(rng.normal(size=(1500, 64)) + 1, "pool")
    slow, expected = seconds(lambda: literal_loop(small, 32))
    fast, found = seconds(lambda: herd(small, 32))
    assert found.tolist() == expected
    print(f"1,500 x 64, 32 chosen: literal loop {slow:.3f} s, herd {fast:.4f} s, ratio {slow / fast:.0f}")

    whole = bare = 0.0
    for size in GROUPS:
        rows = max(CHOSEN, round(size * options.scale))
        pool = normalise(rng.normal(size=(rows, DIM)).astype(np.float32) + 1, "pool")
        direction = pool.mean(axis=0)
        duration, _ = seconds(lambda pool=pool: herd(pool, CHOSEN))
        product, _ = seconds(lambda pool=pool, v=direction: [pool @ v for _ in range(CHOSEN)])
        print(f"{rows:7,} x {DIM}, {CHOSEN} chosen: {duration:.3f} s, {duration / product:.2f} of its bare products")
        whole, bare = whole + duration, bare + product
    hand_on([Row("herding over its bare matrix-vector products", f"{whole:.2f} s", f"{bare:.2f} s", whole / bare)])
    print(f"all groups: {whole:.2f} s, {whole / bare:.2f} of {len(GROUPS) * CHOSEN} bare matrix-vector products")


if __name__ == "__main__":
    main()
