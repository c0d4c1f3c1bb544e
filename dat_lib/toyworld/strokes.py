"""Strokes that places are painted with: bands of colour, ridges and swells."""

import math
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.toyworld.colours import Colour, mix

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw


def gradient(draw: "ImageDraw", size: int, top: int, bottom: int, first: Colour, last: Colour) -> None:
    """Paint the rows from `top` to `bottom` in twelve bands from the `first` colour to the `last`."""
    bands = 12
    for band in range(bands):
        start = top + (bottom - top) * band // bands
        stop = top + (bottom - top) * (band + 1) // bands
        if stop > start:
            draw.rectangle([0, start, size, stop], fill=mix(first, last, band / (bands - 1)))


def ridge(draw: "ImageDraw", size: int, base: int, rise: float, colour: Colour, random: np.random.Generator) -> None:
    """Paint a jagged line of hills that stand on `base` and rise up to `rise` of the image."""
    heights = random.uniform(0.1, 1.0, 9) * rise * size
    points = [(size * step / 8, base - float(height)) for step, height in enumerate(heights)]
    draw.polygon([(0, base), *points, (size, base)], fill=colour)


def swell(
    draw: "ImageDraw",
    size: int,
    base: float,
    rise: float,
    turns: float,
    colour: Colour,
    random: np.random.Generator,
    crest: Colour | None = None,
) -> None:
    """Paint everything below a wavy line, with a crest along it where one is given."""
    phase = random.uniform(0, 2 * math.pi)
    line = [(size * t / 24, base + rise * math.sin(phase + 2 * math.pi * turns * t / 24)) for t in range(25)]
    draw.polygon([*line, (size, size), (0, size)], fill=colour)
    if crest:
        draw.line(line, fill=crest, width=max(1, round(size * float(random.uniform(0.008, 0.03)))), joint="curve")
