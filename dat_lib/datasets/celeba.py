"""CelebA (Liu et al. 2015) in the folder of WILDS v1.0: hair colour, with gender as the spurious attribute.

`list_attr_celeba.csv` and `list_eval_partition.csv` are read directly, since the WILDS class would need torch to tell
no more than three of their columns; a test holds both against each other. WILDS takes the two files to list the images
in the same order without looking; here a difference is an error. `RELEASE_v1.0.txt` is not needed.
"""

from functools import partial
from pathlib import Path

import numpy as np

from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import locate
from dat_lib.datasets.files.table_columns import at_row, read_columns, values_of
from dat_lib.datasets.files.wilds_package import wilds_archive
from dat_lib.datasets.images import ImageSamples
from dat_lib.datasets.official_counts import Expect, Group, check_counts
from dat_lib.datasets.registry import DatasetKind, Download
from dat_lib.datasets.source import SPLITS, DataError

FOLDER = "celebA_v1.0"
LAYOUT = """\
  celebA_v1.0/list_attr_celeba.csv       columns image_id, Blond_Hair, Male and others
  celebA_v1.0/list_eval_partition.csv    columns image_id, partition
  celebA_v1.0/img_align_celeba/000001.jpg and so on"""
KIND = DatasetKind(
    "celeba",
    gives="image files",
    download=Download(partial(wilds_archive, "celebA_dataset", "CelebADataset", FOLDER), FOLDER, LAYOUT),
)

_ATTRIBUTES = "list_attr_celeba.csv"
_PARTITION = "list_eval_partition.csv"
_OFFICIAL: dict[Group, int] = {
    ("train", 0, 0): 71629,
    ("train", 0, 1): 66874,
    ("train", 1, 0): 22880,
    ("train", 1, 1): 1387,
    ("val", 0, 0): 8535,
    ("val", 0, 1): 8276,
    ("val", 1, 0): 2874,
    ("val", 1, 1): 182,
    ("test", 0, 0): 9767,
    ("test", 0, 1): 7535,
    ("test", 1, 0): 2480,
    ("test", 1, 1): 180,
}
_ADVICE = (
    "Either file is not the published one, or has lost rows. Use the folder of WILDS celebA v1.0, or set "
    'expect = "any" to accept what is there.'
)


def open_dataset(root: str | None, *, expect: Expect = "official") -> ImageFiles:
    """Open the folder. Classes: not blond, blond; attributes: female, male. The splits are the official partition."""
    folder = locate(root, FOLDER, [_ATTRIBUTES, _PARTITION], LAYOUT)
    samples = _samples(folder)
    check_counts(samples, _OFFICIAL, expect, folder, _ADVICE)
    return ImageFiles(folder, samples, (_ATTRIBUTES, _PARTITION))


def _samples(folder: Path) -> ImageSamples:
    path, partition_path = folder / _ATTRIBUTES, folder / _PARTITION
    columns = read_columns(path, ["image_id", "Blond_Hair", "Male"])
    partition = read_columns(partition_path, ["image_id", "partition"])
    _same_images(partition_path, partition["image_id"], columns["image_id"])
    binary = {"-1": 0, "0": 0, "1": 1}
    splits = {str(number): name for number, name in enumerate(SPLITS)}
    files = np.array([f"img_align_celeba/{name}" for name in columns["image_id"]], dtype=np.str_)
    return ImageSamples(
        sample_ids=files,
        split=np.array(values_of(partition["partition"], splits, "partition", partition_path)),
        labels=np.array(values_of(columns["Blond_Hair"], binary, "Blond_Hair", path)),
        attributes=np.array(values_of(columns["Male"], binary, "Male", path)),
        files=files,
    )


def _same_images(path: Path, images: list[str], expected: list[str]) -> None:
    if len(images) != len(expected):
        raise DataError(f"{path}: lists {len(images)} images, but {_ATTRIBUTES} lists {len(expected)}")
    for row, (image, other) in enumerate(zip(images, expected, strict=True), start=1):
        if image != other:
            raise DataError(f"{at_row(path, row)} is {image}, but that of {_ATTRIBUTES} is {other}")
