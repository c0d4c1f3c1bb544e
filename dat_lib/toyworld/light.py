"""The light of a drawn image: day, mist, dusk or night, and the grain of a camera."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

LIGHTS = ("day", "mist", "dusk", "night")
_DUSK = np.array([1.12, 0.88, 0.72], np.float32)
_NIGHT = np.array([0.8, 0.95, 1.3], np.float32)


def apply_light(image: "Image", light: str, random: np.random.Generator) -> "Image":
    """Return `image` in one of `LIGHTS`, of random strength."""
    from PIL import Image

    pixels = np.asarray(image, dtype=np.float32)
    if light == "mist":
        pixels = pixels + (np.float32(random.uniform(185, 225)) - pixels) * np.float32(random.uniform(0.2, 0.45))
    elif light == "dusk":
        pixels = pixels * np.float32(random.uniform(0.8, 1.0)) * _DUSK
    elif light == "night":
        pixels = pixels * np.float32(random.uniform(0.5, 0.68)) * _NIGHT
    else:
        pixels = pixels * np.float32(random.uniform(0.82, 1.12))
    grain = random.standard_normal(pixels.shape, dtype=np.float32) * np.float32(random.uniform(1.0, 5.0))
    return Image.fromarray(np.clip(pixels + grain + np.float32(0.5), 0, 255).astype(np.uint8))
