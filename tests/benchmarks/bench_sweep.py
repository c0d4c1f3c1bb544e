"""A sweep of 10 strengths, 3 aggregations and 8 neighbourhood sizes beside a single setting.

Both go from embeddings to predictions; the 240 of the sweep share one choice of references and one distance pass.
FMoW-shaped (62 x 5 groups, 2,211 queries) and Waterbirds-shaped (2 x 2 groups, 5,794 queries), times --scale.
"""

import argparse
import statistics
import time
from dataclasses import dataclass

import numpy as np

from dat_lib.density.reference_density import ReferenceDensity
from dat_lib.references import select_references
from dat_lib.translation import similarities, sweep
from tests.benchmarks.timing import Row, hand_on

SWEEP = ((5, 10, 15, 20, 25, 30, 35, 40), np.arange(1.0, 11.0), ("both", "group", "average"))


@dataclass
class Shape:
    name: str
    classes: int
    attributes: int
    n: int
    dim: int
    queries: int
    pool: int
    """Samples a group."""
    k: int


SHAPES = (
    Shape("FMoW", 62, 5, n=50, dim=768, queries=2211, pool=60, k=30),
    Shape("Waterbirds", 2, 2, n=56, dim=512, queries=5794, pool=1200, k=10),
)


class Case:
    def __init__(self, shape, scale):
        rng = np.random.default_rng(0)
        groups = [(y, a) for y in range(shape.classes) for a in range(shape.attributes)]
        self.shape = shape
        self.labels, self.attributes = np.repeat(groups, shape.pool, axis=0).T
        self.pool, self.queries, self.class_text, group_text = (
            rng.normal(size=(rows, shape.dim)).astype(np.float32) + 1
            for rows in (len(self.labels), round(shape.queries * scale), shape.classes, len(groups))
        )
        self.group_text = group_text.reshape(shape.classes, shape.attributes, shape.dim)

    def references(self):
        shape = self.shape
        return select_references(
            self.pool,
            self.labels,
            self.attributes,
            n=shape.n,
            k=max(SWEEP[0]),
            n_classes=shape.classes,
            n_attributes=shape.attributes,
        )

    def predictions(self, references, ks, strengths, terms):
        log_densities = ReferenceDensity(references, ks).log_density(self.queries)
        similarity = similarities(self.queries, self.class_text, self.group_text)
        return sweep(similarity, list(log_densities), strengths=strengths, terms=terms)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for shape in SHAPES:
        case = Case(shape, options.scale)
        times = {"references": [], "single setting": [], "sweep of 240": []}
        for _ in range(options.repeats + 1):
            marks = [time.perf_counter()]
            references = case.references()
            marks.append(time.perf_counter())
            case.predictions(references, (shape.k,), [10.0], ["both"])
            marks.append(time.perf_counter())
            case.predictions(references, *SWEEP)
            marks.append(time.perf_counter())
            for measured, duration in zip(times.values(), np.diff(marks), strict=True):
                measured.append(duration)
        chosen, single, swept = (statistics.median(measured[1:]) for measured in times.values())
        print(f"{shape.name}: {len(case.queries)} queries, {shape.classes} x {shape.attributes} groups of {shape.n}")
        for name, measured in times.items():
            print(f"  {name:16} {statistics.median(measured[1:]):8.3f} s   (fastest {min(measured[1:]):.3f})")
        print(f"  sweep / single setting, references given:     {swept / single:.2f}")
        print(f"  sweep / single setting, references included:  {(chosen + swept) / (chosen + single):.2f}")
        one, all_of_them = f"one setting: {chosen + single:.3f} s", f"{chosen + swept:.3f} s"
        ratio = (chosen + swept) / (chosen + single)
        hand_on([Row(f"sweep of 240 settings over one, {shape.name}-shaped", all_of_them, one, ratio)])


if __name__ == "__main__":
    main()
