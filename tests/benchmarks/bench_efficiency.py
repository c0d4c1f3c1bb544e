"""DAT beside TIE on the same cached embeddings, CelebA's numbers of images, dimension 512, times --scale.

The paper's efficiency table gives TIE the training split (162,770 images to encode) and DAT the validation split
(19,867): most of its difference is how many images were encoded. Here nothing is encoded. Each method scores the same
test images, once with the pool that the paper gives it and once with the other's.
"""

import argparse
import statistics
import time

import numpy as np

from dat_lib.methods.dat import Dat, DatStar
from dat_lib.methods.support.contract import Problem
from dat_lib.methods.support.pool_densities import run_on_pool
from dat_lib.methods.tie import Tie, TieStar
from dat_lib.toyworld.simulation import simulate
from tests.benchmarks.timing import Row, hand_on

TRAIN, VAL, TEST, DIM = 162_770, 19_867, 19_962, 512
NEEDED = {Tie: "train", TieStar: "train", Dat: "val", DatStar: "val"}


def celeba_shaped(scale):
    """The same queries and prompts with each of the two pools: images of a simulated world, drawn again with noise."""
    rng = np.random.default_rng(0)
    world = simulate(seed=0, dim=DIM)

    def drawn(split, count):
        rows = rng.choice(np.flatnonzero(world.part(split)), round(count * scale))
        images = world.embeddings[rows] + rng.normal(0, 0.02, (len(rows), DIM)).astype(np.float32)
        return images.astype(np.float32), world.labels[rows], world.attributes[rows]

    queries, _, query_attributes = drawn("test", TEST)
    for name, count in (("train", TRAIN), ("val", VAL)):
        pool, labels, attributes = drawn("train", count)
        yield (
            name,
            Problem(
                queries=queries,
                text=world.text,
                n_classes=2,
                n_attributes=2,
                query_ids=np.array([f"test{row}" for row in range(len(queries))]),
                query_attributes=query_attributes,
                pool=pool,
                pool_ids=np.array([f"{name}{row}" for row in range(len(pool))]),
                pool_labels=labels,
                pool_attributes=attributes,
            ),
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    problems = dict(celeba_shaped(options.scale))
    seconds = {}
    print(f"{'method':9} {'pool':>6} {'images to encode':>17} {'scoring':>10}")
    for kind, usual in NEEDED.items():
        method = kind()
        for pool, problem in problems.items():
            times = []
            for _ in range(options.repeats):
                start = time.perf_counter()
                run_on_pool(method, problem)
                times.append(time.perf_counter() - start)
            seconds[kind, pool] = statistics.median(times)
            images = len(problem.pool) + len(problem.queries)
            mark = "  (the paper's pool)" if pool == usual else ""
            print(f"{method.title:9} {pool:>6} {images:17,} {seconds[kind, pool]:8.3f} s{mark}")
    encoded = {pool: len(problem.pool) + len(problem.queries) for pool, problem in problems.items()}
    print(f"images to encode, TIE / DAT as in the paper:      {encoded['train'] / encoded['val']:.2f}")
    for dat, tie in ((Dat, Tie), (DatStar, TieStar)):
        name = f"{dat.title} / {tie.title}"
        for pool in problems:
            ratio = seconds[dat, pool] / seconds[tie, pool]
            print(f"scoring, {name}, both with the {pool:5} pool:{'':{12 - len(name)}} {ratio:8.2f}")
            ours, peer = f"{seconds[dat, pool]:.3f} s", f"our {tie.title}: {seconds[tie, pool]:.3f} s"
            hand_on([Row(f"{dat.title} over {tie.title}, same embeddings, {pool} pool", ours, peer, ratio)])


if __name__ == "__main__":
    main()
