"""Drawn places on land. Each paints everything below the horizon, and some of what rises above it."""

from typing import TYPE_CHECKING

import numpy as np

from dat_lib.toyworld.colours import from_hsv, mix, random_colour
from dat_lib.toyworld.strokes import gradient, ridge, swell

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw


def meadow(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """Grass with flowers, some with hills behind."""
    hue = float(random.uniform(0.16, 0.36))
    near = from_hsv(hue, float(random.uniform(0.4, 0.8)), float(random.uniform(0.3, 0.7)))
    if random.random() < 0.5:
        ridge(draw, size, horizon, 0.08, mix(near, (120, 140, 150), 0.5), random)
    gradient(draw, size, horizon, size, mix(near, (225, 225, 170), 0.35), near)
    flower = random_colour(random, saturation=(0.5, 0.9), value=(0.7, 1.0))
    for _ in range(int(random.integers(30, 80))):
        x, y = random.uniform(0, size), random.uniform(horizon, size)
        tall = 0.06 * size * (0.3 + (y - horizon) / size)
        shade = mix(near, (255, 255, 200) if random.random() < 0.5 else (0, 30, 0), float(random.uniform(0.1, 0.45)))
        draw.line([(x, y), (x + random.uniform(-0.4, 0.4) * tall, y - tall)], fill=shade, width=max(1, size // 96))
    for _ in range(int(random.integers(0, 25))):
        x, y, radius = random.uniform(0, size), random.uniform(horizon, size), size * random.uniform(0.005, 0.014)
        draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=flower)


def forest(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """Trunks under a roof of leaves."""
    leaf = random_colour(random, hue=(0.12, 0.42), saturation=(0.3, 0.75), value=(0.2, 0.55))
    floor = random_colour(random, hue=(0.06, 0.3), saturation=(0.25, 0.6), value=(0.2, 0.5))
    draw.rectangle([0, 0, size, size], fill=mix(leaf, (200, 215, 200), float(random.uniform(0.1, 0.5))))
    ground = max(horizon, int(size * random.uniform(0.5, 0.75)))
    gradient(draw, size, ground, size, mix(floor, leaf, 0.3), floor)
    for _ in range(int(random.integers(5, 12))):
        x, half = random.uniform(0, size), random.uniform(0.012, 0.05) * size
        bark = random_colour(random, hue=(0.04, 0.12), saturation=(0.1, 0.55), value=(0.15, 0.6))
        foot = ground + random.uniform(0.0, 0.12) * size
        draw.polygon([(x - half * 0.8, 0), (x + half * 0.8, 0), (x + half, foot), (x - half, foot)], fill=bark)
    for _ in range(int(random.integers(15, 40))):
        x, y, radius = random.uniform(0, size), random.uniform(-0.05, 0.32) * size, random.uniform(0.03, 0.1) * size
        shade = mix(leaf, (210, 220, 120) if random.random() < 0.5 else (0, 20, 5), float(random.uniform(0.0, 0.4)))
        draw.ellipse([x - radius, y - radius * 0.7, x + radius, y + radius * 0.7], fill=shade)


def desert(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """Dunes, some with cacti."""
    sand = random_colour(random, hue=(0.05, 0.14), saturation=(0.25, 0.6), value=(0.6, 0.95))
    for layer in range(int(random.integers(2, 5))):
        base = horizon + layer * (size - horizon) // 4
        shade = mix(sand, (90, 50, 30), float(random.uniform(0.0, 0.3)))
        swell(draw, size, base, random.uniform(0.02, 0.07) * size, random.uniform(0.6, 1.6), shade, random)
    for _ in range(int(random.integers(0, 6))):
        x, y, tall = random.uniform(0, size), random.uniform(horizon, size), random.uniform(0.03, 0.12) * size
        green = random_colour(random, hue=(0.2, 0.36), saturation=(0.2, 0.5), value=(0.25, 0.5))
        draw.line([(x, y), (x, y - tall)], fill=green, width=max(2, size // 40))
        draw.line([(x, y - tall * 0.4), (x + tall * 0.4, y - tall * 0.75)], fill=green, width=max(1, size // 64))


def mountain(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """Peaks, some with snow, above stony ground."""
    rock = random_colour(random, hue=(0.02, 0.7), saturation=(0.03, 0.25), value=(0.3, 0.65))
    base = min(size - 1, horizon + int(0.12 * size))
    for _ in range(int(random.integers(2, 5))):
        x, half = random.uniform(0, size), random.uniform(0.2, 0.45) * size
        peak = base - random.uniform(0.2, 0.48) * size
        shade = mix(rock, (190, 205, 225), float(random.uniform(0.0, 0.45)))
        draw.polygon([(x - half, base), (x, peak), (x + half, base)], fill=shade)
        draw.polygon([(x, peak), (x + half, base), (x + half * 0.2, base)], fill=mix(shade, (20, 20, 30), 0.25))
        if random.random() < 0.6:
            cut = random.uniform(0.15, 0.4)
            snow = [
                (x - half * cut, peak + (base - peak) * cut),
                (x, peak),
                (x + half * cut, peak + (base - peak) * cut),
            ]
            draw.polygon(snow, fill=(240, 243, 248))
    ground = random_colour(random, hue=(0.05, 0.34), saturation=(0.08, 0.5), value=(0.35, 0.7))
    gradient(draw, size, base, size, mix(ground, rock, 0.4), ground)
    for _ in range(int(random.integers(4, 18))):
        x, y, half = random.uniform(0, size), random.uniform(base, size), random.uniform(0.012, 0.05) * size
        stone = mix(rock, (20, 20, 20) if random.random() < 0.5 else (230, 230, 230), float(random.uniform(0.0, 0.35)))
        draw.polygon(
            [(x - half, y), (x - half * 0.4, y - half), (x + half * 0.5, y - half * 0.8), (x + half, y)], fill=stone
        )


def field(draw: "ImageDraw", size: int, horizon: int, random: np.random.Generator) -> None:
    """Furrows that meet at a point, some with trees or a fence."""
    crop = random_colour(random, hue=(0.08, 0.32), saturation=(0.3, 0.7), value=(0.4, 0.85))
    soil = random_colour(random, hue=(0.03, 0.1), saturation=(0.3, 0.6), value=(0.25, 0.5))
    gradient(draw, size, horizon, size, mix(crop, soil, 0.3), crop)
    vanish, rows = random.uniform(-0.2, 1.2) * size, int(random.integers(7, 16))
    for row in range(rows):
        x, half = (row / (rows - 1) * 3.2 - 1.1) * size, random.uniform(0.03, 0.07) * size
        draw.polygon([(vanish, horizon), (x - half, size), (x + half, size)], fill=mix(soil, crop, 0.25))
    for _ in range(int(random.integers(0, 5))):
        x, radius = random.uniform(0, size), random.uniform(0.03, 0.08) * size
        tree = random_colour(random, hue=(0.2, 0.4), saturation=(0.3, 0.6), value=(0.2, 0.45))
        draw.ellipse([x - radius, horizon - radius * 1.6, x + radius, horizon + radius * 0.2], fill=tree)
    if random.random() < 0.4:
        y, post = horizon + 0.08 * size, random_colour(random, hue=(0.05, 0.1), value=(0.3, 0.7))
        draw.line([(0, y), (size, y)], fill=post, width=max(1, size // 96))
        for x in np.arange(random.uniform(0, 0.15), 1.0, 0.15) * size:
            draw.line([(x, y - 0.04 * size), (x, y + 0.04 * size)], fill=post, width=max(1, size // 64))
