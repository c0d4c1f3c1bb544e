"""Colours of the drawn images: 8-bit red, green and blue."""

import colorsys
from typing import TypeAlias

import numpy as np

Colour: TypeAlias = tuple[int, int, int]


def from_hsv(hue: float, saturation: float, value: float) -> Colour:
    """Return the colour of a hue in turns (any real number), a saturation and a value in 0 to 1."""
    red, green, blue = colorsys.hsv_to_rgb(hue % 1.0, saturation, value)
    return (round(255 * red), round(255 * green), round(255 * blue))


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Return `one` with a `share` (0 to 1) of `other`."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return (red, green, blue)


def random_colour(
    random: np.random.Generator,
    *,
    hue: tuple[float, float] = (0.0, 1.0),
    saturation: tuple[float, float] = (0.0, 0.7),
    value: tuple[float, float] = (0.12, 0.98),
) -> Colour:
    """Draw a colour uniformly from ranges of hue, saturation and value."""
    return from_hsv(float(random.uniform(*hue)), float(random.uniform(*saturation)), float(random.uniform(*value)))
