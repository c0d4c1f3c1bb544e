"""Images in files: opened, decoded whole, and refused with the reason where that cannot be done.

An image is handed on in its own mode (palette, RGBA, grey...), since it is the model's preprocessing that converts it
to RGB, some before and some after resizing. Its orientation tag is left alone, as CLIP's preprocessing leaves it. The
exception is grey of more than 8 bits: Pillow's `convert("RGB")` clips it at 255, which turns nearly all of it white, so
16 bits are scaled to 8 by keeping the high byte, as Pillow itself does for 16-bit colour. 32-bit values say nowhere
what white is and are refused.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.arrays import IdArray
from dat_lib.datasets.images import ChangedImage, ImageSamples, UnreadableImage
from dat_lib.datasets.source import DataError

if TYPE_CHECKING:
    from PIL import Image

FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "GIF", "PPM", "JPEG2000")
"""Formats that are read. Others that Pillow knows are not images of datasets, and some start other programs."""

MAX_PIXELS = 2**30 // 4 // 3
"""Larger images are refused as decompression bombs. Pillow's own limit, which other packages lift for everybody."""

MAX_BYTES = 2**30
"""Larger files are refused: an image is read whole, so that what is decoded is what was digested."""

_CONVERTIBLE = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV", "LAB")


@dataclass(frozen=True)
class ImageFiles:
    """A dataset whose images are files below a folder, and nowhere else."""

    root: Path
    table: ImageSamples
    says: tuple[str, ...] = ()
    """Tables and folders, from the root, that the samples were read from."""
    sha256: Sequence[str | None] | None = None
    """[P] what each file must still be when it is opened, where that is known."""

    def __post_init__(self) -> None:
        for file in self.table.files.tolist():
            if file.startswith("/") or (".." in file and ".." in file.split("/")) or "\0" in file:
                raise DataError(f"{self.root}: the file {file!r:.200} leads out of the dataset's folder")

    def samples(self) -> ImageSamples:
        """Return all samples of all splits."""
        return self.table

    def open_image(self, row: int) -> "Image.Image":
        """Return the decoded image of a row of the samples; raises `UnreadableImage`."""
        return read_image(self.root, str(self.table.files[row]), None if self.sha256 is None else self.sha256[row])

    def missing_files(self) -> IdArray:
        """Return the files, each once, that do not exist: one listing a folder, nothing is opened."""
        files = np.unique(self.table.files)
        listed: dict[str, set[str]] = {}
        missing = []
        for file in files.tolist():
            folder, _, name = file.rpartition("/")
            if folder not in listed:
                place = self.root / folder
                listed[folder] = {path.name for path in place.iterdir()} if place.is_dir() else set()
            if name not in listed[folder]:
                missing.append(file)
        return np.array(missing, dtype=np.str_)


def read_image(root: Path, file: str, sha256: str | None = None) -> "Image.Image":
    """Return the decoded image of `root/file`, in a mode whose `convert("RGB")` keeps its brightness.

    Raises `UnreadableImage`, and `ChangedImage` where a digest is given and the file has another.
    """
    path = root / file
    if not path.is_file():
        raise UnreadableImage(file, f"there is no such file in {root}")
    size = path.stat().st_size
    if not size:
        raise UnreadableImage(file, "the file is empty")
    if size > MAX_BYTES:
        raise UnreadableImage(file, f"{size:,} bytes are more than the {MAX_BYTES:,} allowed")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableImage(file, f"cannot be read: {error.strerror or error}") from error
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise ChangedImage(file, "has changed since it was last looked at")
    return _eight_bits(_decode(content, file), file)


def _decode(content: bytes, file: str) -> "Image.Image":
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(BytesIO(content), formats=FORMATS) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise UnreadableImage(file, f"{width} x {height} pixels are more than the {MAX_PIXELS} allowed")
            image.load()
            return image
    except UnreadableImage:
        raise
    except UnidentifiedImageError:
        raise UnreadableImage(file, f"is not an image of a known format ({', '.join(FORMATS)})") from None
    except Exception as error:
        # Decoders meet damaged bytes with many kinds of exceptions, not all of them OSError.
        raise UnreadableImage(file, f"cannot be decoded: {error or type(error).__name__}") from error


def _eight_bits(image: "Image.Image", file: str) -> "Image.Image":
    from PIL import Image

    if image.mode in _CONVERTIBLE:
        return image
    # Pillow decodes 16-bit PGM to mode I, with white at 65535 whatever the file's own maximum is.
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        return Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8))
    raise UnreadableImage(file, f"its mode {image.mode} has no agreed conversion to RGB; save it with 8 or 16 bits")
