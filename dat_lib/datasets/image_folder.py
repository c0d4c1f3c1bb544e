"""Anybody's own images, told apart by their folders: `SPLIT/CLASS/ATTRIBUTE/IMAGE`.

SPLIT is train, val or test. CLASS and ATTRIBUTE are words of the prompt set or their positions from 0; the attribute -1
stands for none of the words. Hidden files are passed over; anything else that does not fit is an error, since a folder
that is silently left out changes every number.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import DatasetNotFoundError
from dat_lib.datasets.images import ImageSamples
from dat_lib.datasets.prompt_words import positions
from dat_lib.datasets.registry import DatasetKind
from dat_lib.datasets.source import SPLITS, DataError

KIND = DatasetKind("image_folder", gives="image files", words=True)
LAYOUT = """\
  SPLIT/CLASS/ATTRIBUTE/IMAGE     such as train/landbird/water/0001.jpg, where
  SPLIT is train, val or test, and CLASS and ATTRIBUTE are words of the prompt set or their positions from 0"""

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif", ".pgm", ".ppm", ".jp2")


def open_dataset(root: str | None, *, classes: Sequence[str], attributes: Sequence[str]) -> ImageFiles:
    """Open the folder; samples are in order of their paths. The words are those of the prompt set."""
    if root is None or not Path(root).is_dir():
        raise DatasetNotFoundError(
            f"{root or 'no folder is given'}: there is no such folder; expected is one with\n{LAYOUT}"
        )
    folder = Path(root)
    listed: list[str] = []
    found = sorted(_images(folder, listed))
    if not found:
        raise DatasetNotFoundError(f"{folder}: there is no image; expected is\n{LAYOUT}")
    parts = [file.split("/") for file in found]

    def at(index: int) -> str:
        return str(folder / found[index])

    files = np.array(found, dtype=np.str_)
    samples = ImageSamples(
        sample_ids=files,
        split=np.array([split for split, _, _, _ in parts], dtype=np.str_),
        labels=np.array(positions([label for _, label, _, _ in parts], classes, "class", at), dtype=np.int64),
        attributes=np.array(
            positions([word for _, _, word, _ in parts], attributes, "attribute", at, none_allowed=True), dtype=np.int64
        ),
        files=files,
    )
    return ImageFiles(folder, samples, tuple(sorted(listed)))


def _images(root: Path, listed: list[str]) -> Iterator[str]:
    """Yield every image, from the root; `listed` takes up the folders on the way."""

    def visible(folder: Path) -> list[Path]:
        listed.append(folder.relative_to(root).as_posix())
        return [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]

    def folders(parent: Path) -> Iterator[Path]:
        for path in visible(parent):
            if not path.is_dir():
                raise DataError(f"{path}: is not a folder; expected is\n{LAYOUT}")
            yield path

    for split in folders(root):
        if split.name not in SPLITS:
            raise DataError(f"{split}: is not a split ({', '.join(SPLITS)}); expected is\n{LAYOUT}")
        for label in folders(split):
            for attribute in folders(label):
                for image in visible(attribute):
                    if image.is_dir() or image.suffix.lower() not in ENDINGS:
                        raise DataError(f"{image}: is not an image ({', '.join(ENDINGS)}); expected is\n{LAYOUT}")
                    yield image.relative_to(root).as_posix()
