"""toybirds: drawn birds whose kind goes with the place in training and does not in the test.

Two kinds of birds that differ in shape, before land or water, in the spirit of Waterbirds. Nothing is read: each image
is drawn from a random generator of its own, seeded by the dataset's seed, the split and the row, so that any row can be
drawn alone, by any process, in any order.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.arrays import IntArray
from dat_lib.datasets.images import ImageSamples
from dat_lib.datasets.registry import DatasetKind
from dat_lib.datasets.source import SPLITS
from dat_lib.toyworld.bird_drawing import KINDS, draw_bird, random_bird
from dat_lib.toyworld.light import LIGHTS, apply_light
from dat_lib.toyworld.place_drawing import BACKGROUNDS, PLACES, PLAIN, draw_foreground, draw_place

if TYPE_CHECKING:
    from PIL import Image

KIND = DatasetKind("toybirds", gives="drawn images")
SIZE = 64
"""Pixels of a side."""
_OVERSAMPLING = 3
_LIGHT_SHARES = (0.55, 0.15, 0.18, 0.12)


@dataclass(frozen=True)
class Scene:
    """What an image shows, in words."""

    bird: str
    background: str
    place: str
    light: str


class Toybirds:
    """Drawn images: `train` of them with a share `correlation` on the usual background, `val` and `test` balanced.

    The usual background of a landbird is land, of a waterbird water. Classes are balanced in every split, and groups
    are as equal as the counts allow.
    """

    def __init__(self, seed: int, train: int, val: int, test: int, correlation: float) -> None:
        if seed < 0:
            raise ValueError(f"seed must not be negative, not {seed}")
        if not 0.0 <= correlation <= 1.0:
            raise ValueError(f"correlation must be in 0 to 1, not {correlation}")
        self.seed = seed
        self.counts = dict(zip(SPLITS, (train, val, test), strict=True))
        for split, count in self.counts.items():
            if count < 0:
                raise ValueError(f"{split} must not be negative, not {count}")
        groups = [_groups(seed, split, count, correlation) for split, count in self.counts.items()]
        self._labels = np.concatenate([labels for labels, _ in groups])
        self._attributes = np.concatenate([attributes for _, attributes in groups])

    def samples(self) -> ImageSamples:
        """Return all samples of all splits: train, val, test."""
        split = np.repeat(SPLITS, list(self.counts.values()))
        ids = [f"{name}-{row:05d}" for name, count in self.counts.items() for row in range(count)]
        return ImageSamples(
            sample_ids=np.array(ids, dtype=np.str_),
            split=split,
            labels=self._labels,
            attributes=self._attributes,
            files=np.full(len(ids), "", dtype=np.str_),
        )

    def open_image(self, row: int) -> "Image.Image":
        """Draw the image of a row of the samples, RGB, `SIZE` pixels a side."""
        return self.draw(row)[0]

    def draw(self, row: int) -> "tuple[Image.Image, Scene]":
        """Draw the image of a row of the samples, and say what it shows."""
        if not 0 <= row < len(self._labels):
            raise IndexError(f"there is no row {row} among {len(self._labels)}")
        firsts = np.cumsum([0, *self.counts.values()])
        split = int(np.searchsorted(firsts, row, side="right")) - 1
        random = np.random.default_rng([self.seed, split, row - int(firsts[split])])
        return draw_scene(int(self._labels[row]), int(self._attributes[row]), random)


def open_dataset(
    root: str | None = None,
    seed: int = 0,
    train: int = 3000,
    val: int = 600,
    test: int = 1200,
    correlation: float = 0.95,
) -> Toybirds:
    """Return the drawn dataset. There is no folder to read, so `root` is not used."""
    return Toybirds(seed, train, val, test, correlation)


def _groups(seed: int, split: str, count: int, correlation: float) -> tuple[IntArray, IntArray]:
    """Return [count] labels and attributes in random order, with exact counts: equal classes, the usual share."""
    labels = np.arange(count) % len(KINDS)
    of_class = np.bincount(labels, minlength=len(KINDS))
    usual = np.round((correlation if split == "train" else 0.5) * of_class)
    rank_in_class = np.arange(count) // len(KINDS)
    attributes = np.where(rank_in_class < usual[labels], labels, 1 - labels)
    order = np.random.default_rng([seed, SPLITS.index(split)]).permutation(count)
    return labels[order], attributes[order]


def draw_scene(kind: int, background: int | None, random: np.random.Generator) -> "tuple[Image.Image, Scene]":
    """Draw a bird of `KINDS[kind]` before one of `BACKGROUNDS`, or before a plain backdrop where that is None."""
    from PIL import ImageDraw

    ground = PLAIN if background is None else BACKGROUNDS[background]
    places = PLACES.get(ground, (PLAIN,))
    place = places[int(random.integers(len(places)))]
    light = str(random.choice(LIGHTS, p=_LIGHT_SHARES))
    size = SIZE * _OVERSAMPLING
    image = draw_place(place, size, random)
    bird = random_bird(kind, random)
    length = size * random.uniform(0.34, 0.5)
    x, y = size * random.uniform(0.42, 0.58), size * random.uniform(0.48, 0.6)
    draw = ImageDraw.Draw(image)
    red, green, blue = image.crop((0, size - 1, 1, size)).tobytes()
    draw_bird(draw, bird, (x, y), length)
    if background is not None and random.random() < 0.7:
        feet = y + length * (bird.height / 2 + bird.legs)
        draw_foreground(draw, background, feet, size, (red, green, blue), random)
    image = apply_light(image.reduce(_OVERSAMPLING), light, random)
    return image, Scene(KINDS[kind], ground, place, light)
