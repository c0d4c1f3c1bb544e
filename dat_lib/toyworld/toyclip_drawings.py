"""The drawings that toyclip is trained on: scenes in which the correlation holds, and birds before a plain backdrop."""

from collections.abc import Iterator

import numpy as np

from dat_lib.arrays import IntArray
from dat_lib.datasets.toybirds import Scene, Toybirds, draw_scene, open_dataset
from dat_lib.toyworld.bird_drawing import KINDS

_CHUNK = 200
# Beside 0, 1 and 2, which are the splits of toybirds.
_PORTRAITS = 3


def draw_training_set(seed: int, scenes: int, portraits: int, workers: int) -> tuple[IntArray, list[Scene]]:
    """Return [scenes + portraits, 64, 64, 3] 8-bit images and what each shows.

    Scenes are the training split of toybirds with this seed; portraits show either bird as often before a plain
    backdrop, so that shapes are learned at all. The number of workers changes nothing.
    """
    from multiprocessing import get_context

    dataset = open_dataset(seed=seed, train=scenes, val=0, test=0)
    work = [(dataset, rows) for rows in _chunks(scenes)] + [(seed, rows) for rows in _chunks(portraits)]
    with get_context("spawn").Pool(workers) as pool:
        drawn = [one for chunk in pool.imap(_draw, work) for one in chunk]
    return np.stack([pixels for pixels, _ in drawn]), [scene for _, scene in drawn]


def _chunks(count: int) -> Iterator[range]:
    return (range(first, min(first + _CHUNK, count)) for first in range(0, count, _CHUNK))


def _draw(work: tuple[Toybirds | int, range]) -> list[tuple[IntArray, Scene]]:
    source, rows = work
    if isinstance(source, Toybirds):
        drawn = (source.draw(row) for row in rows)
    else:
        drawn = (draw_scene(row % len(KINDS), None, np.random.default_rng([source, _PORTRAITS, row])) for row in rows)
    return [(np.asarray(image), scene) for image, scene in drawn]
