"""A dataset kind in one file: images whose names say all there is to know, such as `train_round_dark_17.png`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import DatasetNotFoundError
from dat_lib.datasets.images import ImageSamples
from dat_lib.datasets.registry import DatasetKind

KIND = DatasetKind("named_images", gives="image files", words=True)


def open_dataset(root: str, *, classes: Sequence[str], attributes: Sequence[str]) -> ImageFiles:
    """Open the folder; the words are those of the prompt set."""
    files = sorted(path.name for path in Path(root).glob("*.png"))
    if not files:
        raise DatasetNotFoundError(f"{root}: there is no image named SPLIT_CLASS_ATTRIBUTE_NUMBER.png")
    split, label, attribute, _ = zip(*(file.split("_") for file in files), strict=True)
    samples = ImageSamples(
        sample_ids=np.array(files),
        split=np.array(split),
        labels=np.array([classes.index(word) for word in label]),
        attributes=np.array([attributes.index(word) for word in attribute]),
        files=np.array(files),
    )
    return ImageFiles(Path(root), samples, says=(".",))
