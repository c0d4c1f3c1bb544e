"""Drawn places on water. Each paints everything below the horizon, and some of what rises above it."""

import math
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.toyworld.colours import Colour, mix, random_colour
from dat_lib.toyworld.strokes import gradient, ridge, swell

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw


def sea(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """Open water with small waves, some with an island."""
    near = _water(random)
    gradient(draw, size, horizon, size, mix(near, (215, 230, 240), float(random.uniform(0.1, 0.5))), near)
    for _ in range(int(random.integers(20, 60))):
        y = random.uniform(horizon, size)
        depth = (y - horizon) / (size - horizon)
        half, x = (0.02 + 0.08 * depth) * size, random.uniform(0, size)
        shade = mix(near, (240, 248, 250) if random.random() < 0.6 else (0, 15, 40), float(random.uniform(0.15, 0.5)))
        draw.line([(x - half, y), (x, y - half * 0.15), (x + half, y)], fill=shade, width=max(1, size // 96))
    if random.random() < 0.25:
        x, half = random.uniform(0, size), random.uniform(0.05, 0.18) * size
        draw.polygon(
            [(x - half, horizon), (x, horizon - half * 0.5), (x + half, horizon)], fill=mix(near, (60, 70, 70), 0.6)
        )


def lake(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """Still water before hills, some with lily pads."""
    near = _water(random)
    shore = random_colour(random, hue=(0.1, 0.42), saturation=(0.15, 0.5), value=(0.25, 0.6))
    ridge(draw, size, horizon, 0.16, shore, random)
    gradient(draw, size, horizon, size, mix(near, shore, 0.35), near)
    for _ in range(int(random.integers(4, 14))):
        x, y = random.uniform(0, size), random.uniform(horizon, size)
        half = random.uniform(0.06, 0.3) * size
        shade = mix(near, (235, 245, 250), float(random.uniform(0.1, 0.4)))
        draw.line([(x - half, y), (x + half, y)], fill=shade, width=max(1, size // 80))
    for _ in range(int(random.integers(0, 8))):
        x, y, half = random.uniform(0, size), random.uniform(0.6, 1.0) * size, random.uniform(0.02, 0.05) * size
        pad = random_colour(random, hue=(0.24, 0.4), saturation=(0.4, 0.7), value=(0.3, 0.6))
        draw.ellipse([x - half, y - half * 0.4, x + half, y + half * 0.4], fill=pad)


def river(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """A winding river between its banks."""
    near = _water(random)
    bank = random_colour(random, hue=(0.1, 0.38), saturation=(0.25, 0.6), value=(0.3, 0.65))
    gradient(draw, size, horizon, size, mix(bank, (220, 225, 200), 0.3), bank)
    source, mouth, bend = random.uniform(0.2, 0.8), random.uniform(0.35, 0.65), random.uniform(-0.2, 0.2)
    left, right = [], []
    for step in range(13):
        t = step / 12
        centre = source + (mouth - source) * t + bend * math.sin(2 * math.pi * t)
        half, y = 0.05 + 0.52 * t, horizon + t * (size - horizon)
        left.append(((centre - half) * size, y))
        right.append(((centre + half) * size, y))
    draw.polygon([*left, *reversed(right)], fill=near)
    for _ in range(int(random.integers(8, 24))):
        t, x = random.random() ** 0.6, random.uniform(-0.35, 0.35)
        centre, y = mouth * size + x * size * t, horizon + t * (size - horizon)
        half = random.uniform(0.02, 0.08) * size
        shade = mix(near, (240, 248, 250), float(random.uniform(0.2, 0.6)))
        draw.arc(
            [centre - half, y - half * 0.3, centre + half, y + half * 0.3],
            180,
            360,
            fill=shade,
            width=max(1, size // 80),
        )


def surf(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """Rows of breakers."""
    near = _water(random)
    layers = int(random.integers(3, 6))
    gradient(draw, size, horizon, size, mix(near, (225, 235, 240), 0.3), near)
    for layer in range(layers):
        base = horizon + (layer + 0.4) * (size - horizon) / layers
        shade = mix(near, (0, 20, 50) if layer % 2 else (190, 225, 235), float(random.uniform(0.1, 0.35)))
        rise, turns = random.uniform(0.015, 0.05) * size, random.uniform(1.5, 3.5)
        swell(draw, size, base, rise, turns, shade, random, crest=(242, 248, 250))


def _water(random: np.random.Generator) -> Colour:
    return random_colour(random, hue=(0.38, 0.64), saturation=(0.15, 0.75), value=(0.3, 0.85))
