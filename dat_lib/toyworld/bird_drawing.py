"""Drawn birds of two kinds that differ in shape and in nothing else.

Colour, size, position, pose and light come from the same distributions for both kinds. A landbird is compact, with a
short neck, a short deep bill, a long tail and thin toes; a waterbird is long and low, with a long neck, a long flat
bill, a stub of a tail and webbed feet. The ranges of single measures overlap, so that no one of them tells the kind.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dat_lib.toyworld.colours import Colour, mix, random_colour

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

Point: TypeAlias = tuple[float, float]
DrawShape: TypeAlias = Callable[[list[Point], Colour], None]
DrawLine: TypeAlias = Callable[[list[Point], float, Colour], None]
DrawDisc: TypeAlias = Callable[[Point, float, Colour], None]

KINDS = ("landbird", "waterbird")

_CIRCLE = [(math.cos(2 * math.pi * corner / 24), math.sin(2 * math.pi * corner / 24)) for corner in range(24)]

# Lengths in units of the body's length; angles in degrees, up is positive.
_SHAPES: dict[str, dict[str, tuple[float, float]]] = {
    "landbird": {
        "height": (0.50, 0.66),
        "tilt": (8.0, 38.0),
        "neck": (0.04, 0.22),
        "head": (0.19, 0.25),
        "bill": (0.12, 0.26),
        "bill_depth": (0.09, 0.15),
        "bill_droop": (-4.0, 14.0),
        "tail": (0.36, 0.72),
        "tail_width": (0.10, 0.20),
        "tail_lift": (-22.0, 14.0),
        "legs": (0.16, 0.34),
        "toes": (0.0, 0.0),
    },
    "waterbird": {
        "height": (0.36, 0.50),
        "tilt": (-4.0, 14.0),
        "neck": (0.26, 0.74),
        "head": (0.13, 0.19),
        "bill": (0.24, 0.46),
        "bill_depth": (0.05, 0.10),
        "bill_droop": (-8.0, 10.0),
        "tail": (0.12, 0.30),
        "tail_width": (0.10, 0.18),
        "tail_lift": (0.0, 34.0),
        "legs": (0.20, 0.52),
        "toes": (0.10, 0.16),
    },
}


@dataclass(frozen=True)
class Bird:
    """One bird: its measures, its pose and its colours. Lengths are in units of the body's length."""

    height: float
    tilt: float
    neck: float
    head: float
    bill: float
    bill_depth: float
    bill_droop: float
    tail: float
    tail_width: float
    tail_lift: float
    legs: float
    toes: float
    neck_angle: float
    head_angle: float
    wing_lift: float
    faces_left: bool
    plumage: Colour
    belly: Colour
    wing: Colour
    crown: Colour
    bare_parts: Colour


def random_bird(kind: int, random: np.random.Generator) -> Bird:
    """Draw the measures of a bird of `KINDS[kind]`, and its colours and pose from what both kinds share."""
    measures = {name: float(random.uniform(*bounds)) for name, bounds in _SHAPES[KINDS[kind]].items()}
    plumage = _plumage(random)
    return Bird(
        **measures,
        neck_angle=float(random.uniform(38.0, 92.0)) if random.random() < 0.8 else float(random.uniform(-5.0, 38.0)),
        head_angle=float(random.uniform(-18.0, 14.0)),
        wing_lift=float(random.uniform(20.0, 75.0)) if random.random() < 0.15 else 0.0,
        faces_left=bool(random.random() < 0.5),
        plumage=plumage,
        belly=mix(plumage, _plumage(random), float(random.uniform(0.0, 0.8))),
        wing=mix(plumage, _plumage(random), float(random.uniform(0.2, 0.9))),
        crown=mix(plumage, _plumage(random), float(random.choice([0.0, 0.0, 0.8]))),
        bare_parts=random_colour(random, saturation=(0.3, 0.9), value=(0.25, 0.95)),
    )


def _plumage(random: np.random.Generator) -> Colour:
    """Draw a colour: mostly a dark one, earthy, grey or bright, now and then a pale one."""
    kind = random.random()
    value = (0.1, 0.5) if random.random() < 0.85 else (0.6, 0.98)
    if kind < 0.45:
        return random_colour(random, hue=(0.02, 0.14), saturation=(0.2, 0.7), value=value)
    if kind < 0.7:
        return random_colour(random, saturation=(0.0, 0.15), value=value)
    return random_colour(random, saturation=(0.35, 0.8), value=value)


def draw_bird(draw: "ImageDraw", bird: Bird, centre: Point, length: float) -> None:
    """Draw `bird` with its body's centre at `centre` and a body `length` pixels long."""
    side = -1.0 if bird.faces_left else 1.0

    def pixels(points: list[Point]) -> list[Point]:
        return [(centre[0] + side * length * x, centre[1] - length * y) for x, y in points]

    def shape(points: list[Point], colour: Colour) -> None:
        draw.polygon(pixels(points), fill=colour)

    def line(points: list[Point], width: float, colour: Colour) -> None:
        draw.line(pixels(points), fill=colour, width=max(1, round(width * length)), joint="curve")

    def disc(middle: Point, radius: float, colour: Colour) -> None:
        (x, y), r = pixels([middle])[0], radius * length
        draw.ellipse([x - r, y - r, x + r, y + r], fill=colour)

    chest = _rotated((0.36, 0.06), bird.tilt)
    rump = _rotated((-0.42, 0.04), bird.tilt)
    _legs(bird, shape, line)
    shape(_tail(bird, rump), mix(bird.wing, (0, 0, 0), 0.15))
    shape(_ellipse((0.0, 0.0), 0.5, bird.height / 2, bird.tilt), bird.plumage)
    shape(_ellipse(_rotated((0.06, -0.26 * bird.height), bird.tilt), 0.36, bird.height * 0.24, bird.tilt), bird.belly)
    head = _neck(bird, chest, disc)
    shape(_bill(bird, head), bird.bare_parts)
    shape(_ellipse(head, bird.head * 0.58, bird.head * 0.5, bird.head_angle), bird.plumage)
    cap = _offset(head, bird.head * 0.16, bird.head_angle + 90.0)
    shape(_ellipse(cap, bird.head * 0.46, bird.head * 0.32, bird.head_angle), bird.crown)
    shape(_wing(bird), bird.wing)
    eye = _offset(_offset(head, bird.head * 0.2, bird.head_angle), bird.head * 0.1, bird.head_angle + 90.0)
    disc(eye, bird.head * 0.13, (18, 16, 16))


def _legs(bird: Bird, shape: DrawShape, line: DrawLine) -> None:
    hip_height = -bird.height * 0.38
    foot_height = -bird.height / 2 - bird.legs
    for x in (-0.06, 0.10):
        line([(x, hip_height), (x - 0.02, foot_height)], 0.035, bird.bare_parts)
        if bird.toes:
            web = [(x - 0.04, foot_height + 0.03), (x + bird.toes * 1.5, foot_height + 0.02)]
            shape([*web, (x + bird.toes * 1.3, foot_height - 0.05), (x - 0.04, foot_height - 0.04)], bird.bare_parts)
        else:
            line([(x - 0.08, foot_height), (x + 0.10, foot_height)], 0.03, bird.bare_parts)


def _tail(bird: Bird, rump: Point) -> list[Point]:
    angle = 180.0 + bird.tilt - bird.tail_lift
    tip = _offset(rump, bird.tail + 0.08, angle)
    return [
        _offset(rump, bird.height * 0.18, angle + 90.0),
        _offset(tip, bird.tail_width * 0.7, angle + 90.0),
        _offset(tip, bird.tail_width * 0.7, angle - 90.0),
        _offset(rump, bird.height * 0.18, angle - 90.0),
    ]


def _neck(bird: Bird, chest: Point, disc: DrawDisc) -> Point:
    """Draw the neck as a tapering chain of discs along a curve, and return where the head is."""
    reach = bird.neck + bird.head * 0.55
    forward = _offset(chest, reach * 0.55, bird.neck_angle - 30.0)
    head = _offset(_offset(chest, reach, bird.neck_angle), bird.head * 0.2, 0.0)
    thick, thin = bird.height * 0.34, bird.head * 0.34
    steps = 3 + math.ceil(reach / 0.05)
    for step in range(steps + 1):
        t = step / steps
        x = (1 - t) ** 2 * chest[0] + 2 * t * (1 - t) * forward[0] + t**2 * head[0]
        y = (1 - t) ** 2 * chest[1] + 2 * t * (1 - t) * forward[1] + t**2 * head[1]
        radius = thin + (thick - thin) * (1 - t) ** 2
        disc((x, y), radius, bird.plumage)
    return head


def _bill(bird: Bird, head: Point) -> list[Point]:
    angle = bird.head_angle - bird.bill_droop
    root = _offset(head, bird.head * 0.42, angle)
    tip = _offset(head, bird.head * 0.42 + bird.bill, angle)
    half = bird.bill_depth / 2
    # A flat bill keeps part of its depth to the end; a deep one comes to a point.
    blunt = half * 0.75 if bird.toes else half * 0.1
    return [
        _offset(root, half, angle + 90.0),
        _offset(tip, blunt, angle + 90.0),
        _offset(tip, blunt, angle - 90.0),
        _offset(root, half, angle - 90.0),
    ]


def _wing(bird: Bird) -> list[Point]:
    if bird.wing_lift:
        root = _rotated((0.12, bird.height * 0.2), bird.tilt)
        tip = _offset(root, 0.72, 180.0 - bird.wing_lift)
        return [root, _offset(tip, 0.1, 60.0), tip, _rotated((-0.24, bird.height * 0.2), bird.tilt)]
    centre = _rotated((-0.08, bird.height * 0.06), bird.tilt)
    return _ellipse(centre, 0.34, bird.height * 0.27, bird.tilt + 5.0)


def _ellipse(centre: Point, a: float, b: float, angle: float) -> list[Point]:
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    x, y = centre
    return [(x + a * cos * u - b * sin * v, y + a * sin * u + b * cos * v) for u, v in _CIRCLE]


def _rotated(point: Point, angle: float) -> Point:
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return (cos * point[0] - sin * point[1], sin * point[0] + cos * point[1])


def _offset(point: Point, distance: float, angle: float) -> Point:
    return (
        point[0] + distance * math.cos(math.radians(angle)),
        point[1] + distance * math.sin(math.radians(angle)),
    )
