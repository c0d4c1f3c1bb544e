"""Drawn places on land and on water, and the plants or ripples in front of what stands there."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.toyworld.colours import Colour, mix, random_colour
from dat_lib.toyworld.land_drawing import desert, field, forest, meadow, mountain
from dat_lib.toyworld.strokes import gradient
from dat_lib.toyworld.water_drawing import lake, river, sea, surf

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

BACKGROUNDS = ("land", "water")
PLACES: dict[str, tuple[str, ...]] = {
    "land": ("meadow", "forest", "desert", "mountain", "field"),
    "water": ("sea", "lake", "river", "surf"),
}
PLAIN = "plain"
"""A backdrop that is neither land nor water."""


def draw_place(place: str, size: int, random: np.random.Generator) -> "Image":
    """Return a square image of `place`, `size` pixels wide."""
    from PIL import ImageDraw

    horizon = int(size * random.uniform(0.22, 0.52))
    image = _sky(size, horizon, random)
    _PAINTERS[place](ImageDraw.Draw(image), size, horizon, random)
    return image


def draw_foreground(
    draw: "ImageDraw", background: int, feet: float, size: int, ground: Colour, random: np.random.Generator
) -> None:
    """Cover part of what stands at height `feet`: blades on land, ripples on water. `ground` colours them."""
    if background == BACKGROUNDS.index("land"):
        for _ in range(int(random.integers(4, 22))):
            x, top = random.uniform(0, size), feet - random.uniform(0.0, 0.2) * size
            lean = random.uniform(-0.03, 0.03) * size
            blade = mix(ground, random_colour(random, hue=(0.1, 0.4), saturation=(0.3, 0.8), value=(0.2, 0.7)), 0.6)
            draw.line([(x, feet + 0.08 * size), (x + lean, top)], fill=blade, width=max(1, size // 64))
        return
    for _ in range(int(random.integers(2, 7))):
        x, y = random.uniform(0, size), feet + random.uniform(-0.09, 0.06) * size
        half, thick = random.uniform(0.08, 0.24) * size, random.uniform(0.008, 0.024) * size
        ripple = mix(ground, (235, 245, 250), float(random.uniform(0.05, 0.6)))
        draw.ellipse([x - half, y - thick, x + half, y + thick], fill=ripple)


def _sky(size: int, horizon: int, random: np.random.Generator) -> "Image":
    """Return a sky down to the horizon and below it, so that nothing is left unpainted."""
    from PIL import Image, ImageDraw

    hue = (0.5, 0.68) if random.random() < 0.7 else (-0.05, 0.14)
    top = random_colour(random, hue=hue, saturation=(0.15, 0.6), value=(0.55, 0.98))
    low = mix(top, (250, 240, 225), float(random.uniform(0.3, 0.8)))
    image = Image.new("RGB", (size, size), low)
    draw = ImageDraw.Draw(image)
    gradient(draw, size, 0, horizon, top, low)
    for _ in range(int(random.integers(0, 4))):
        x, y = random.uniform(0, size), random.uniform(0, max(1, horizon))
        for _ in range(4):
            half = random.uniform(0.03, 0.1) * size
            dx, dy = random.uniform(-0.1, 0.1) * size, random.uniform(-0.015, 0.015) * size
            box = [x + dx - half, y + dy - half * 0.4, x + dx + half, y + dy + half * 0.4]
            draw.ellipse(box, fill=mix(low, (255, 255, 255), 0.6))
    return image


def _backdrop(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """Paint over everything, the sky included, in one colour that darkens or brightens downwards."""
    first = random_colour(random, saturation=(0.0, 0.6), value=(0.25, 0.95))
    gradient(draw, size, 0, size, first, mix(first, random_colour(random), 0.3))


_PAINTERS: "dict[str, Callable[[ImageDraw, int, int, np.random.Generator], None]]" = {
    "meadow": meadow,
    "forest": forest,
    "desert": desert,
    "mountain": mountain,
    "field": field,
    "sea": sea,
    "lake": lake,
    "river": river,
    "surf": surf,
    PLAIN: _backdrop,
}
