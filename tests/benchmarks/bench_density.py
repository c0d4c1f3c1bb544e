"""FMoW-shaped DAT beside the bare matrix product of the same shape, and beside one scikit-learn search a group.

62 x 5 groups of 50 references, 30 neighbours, dimension 768; 2,211 queries, a tenth of FMoW's, times --scale.
"""

import argparse
import resource
import statistics
import time

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors

from dat_lib.arrays import normalise
from dat_lib.estimator import DAT
from tests.benchmarks.timing import Row, hand_on, released

CLASSES, ATTRIBUTES, REFERENCES, NEIGHBOURS, DIM, QUERIES = 62, 5, 50, 30, 768, 2211
SLOW_REPEATS = 3


def clouds(rng, labels, attributes):
    classes, places = rng.normal(size=(CLASSES, DIM)), rng.normal(size=(ATTRIBUTES, DIM))
    noise = rng.normal(size=(len(labels), DIM))
    return (0.8 * classes[labels] + 0.6 * places[attributes] + noise).astype(np.float32)


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def slof_group_by_group(queries, references):
    for group in references:
        search = NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute").fit(group)
        k_distance = search.kneighbors()[0][:, -1]
        distance, index = search.kneighbors(queries)
        (distance[:, -1:] / k_distance[index]).mean(axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="10 gives all of FMoW's queries")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    count = round(QUERIES * options.scale)
    labels = np.repeat(np.arange(CLASSES), ATTRIBUTES * REFERENCES)
    attributes = np.tile(np.repeat(np.arange(ATTRIBUTES), REFERENCES), CLASSES)
    drawn = rng.integers(len(labels), size=count)
    everyone = clouds(rng, np.concatenate([labels, labels[drawn]]), np.concatenate([attributes, attributes[drawn]]))
    pool, queries = everyone[: len(labels)], everyone[len(labels) :]
    model = DAT(n=REFERENCES, k=NEIGHBOURS, strength=10.0)
    text = {
        "class_text": rng.normal(size=(CLASSES, DIM)),
        "group_text": rng.normal(size=(CLASSES, ATTRIBUTES, DIM)),
    }
    fitting = seconds(lambda: model.fit(pool, labels, attributes, **text))
    model.predict(queries)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

    left = torch.from_numpy(normalise(queries, "queries"))
    right = torch.from_numpy(model.references_.vectors)
    product = torch.mm(left, right.T)
    times = {"product": [], "product into memory at hand": [], "densities": [], "DAT": []}
    for _ in range(options.repeats):
        times["product"].append(seconds(lambda: torch.mm(left, right.T)))
        times["product into memory at hand"].append(seconds(lambda: torch.mm(left, right.T, out=product)))
        times["densities"].append(seconds(lambda: model.density_.log_density(queries)))
        times["DAT"].append(seconds(lambda: model.predict(queries)))
    groups = model.references_.vectors.reshape(-1, REFERENCES, DIM)
    unit = normalise(queries, "queries")
    sklearn = statistics.median(seconds(lambda: slof_group_by_group(unit, groups)) for _ in range(SLOW_REPEATS))

    median = {name: statistics.median(measured) for name, measured in times.items()}
    print(f"{count} queries x {CLASSES * ATTRIBUTES} groups x {REFERENCES} references, d={DIM}, k={NEIGHBOURS}")
    print(f"{torch.get_num_threads()} threads, median of {options.repeats}")
    for name, measured in times.items():
        print(f"  {name:30} {median[name]:8.3f} s   (fastest {min(measured):.3f})")
    print(f"  {'scikit-learn, group by group':30} {sklearn:8.3f} s")
    print(f"  {'choosing references (fit)':30} {fitting:8.3f} s")
    print(f"DAT / product:                       {median['DAT'] / median['product']:.2f}   (at most 1.5)")
    print(f"DAT / product into memory at hand:   {median['DAT'] / median['product into memory at hand']:.2f}")
    print(f"densities / product:                 {median['densities'] / median['product']:.2f}")
    print(f"scikit-learn / densities:            {sklearn / median['densities']:.1f}")
    print(f"peak resident memory:                {peak:.2f} GiB   (under 2)")
    dat, product, densities = (median[name] for name in ("DAT", "product", "densities"))
    hand_on(
        [
            Row(
                "DAT scoring over the bare matrix product",
                f"{dat:.3f} s",
                f"{released('torch')}: {product:.3f} s",
                dat / product,
                at_most=1.5,
            ),
            Row(
                "densities of DAT over one NearestNeighbors a group",
                f"{densities:.3f} s",
                f"{released('scikit-learn')}: {sklearn:.3f} s",
                densities / sklearn,
                at_most=0.2,
            ),
        ]
    )


if __name__ == "__main__":
    main()
