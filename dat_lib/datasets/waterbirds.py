"""Waterbirds (Sagawa et al. 2020) in the folder of WILDS v1.0: landbirds and waterbirds before land and water.

`metadata.csv` is read directly, since the WILDS class would need torch to tell no more than its columns; a test holds
both against each other. The file `RELEASE_v1.0.txt`, which WILDS asks for, is not needed.
"""

from functools import partial
from pathlib import Path

import numpy as np

from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import locate
from dat_lib.datasets.files.table_columns import read_columns, values_of
from dat_lib.datasets.files.wilds_package import wilds_archive
from dat_lib.datasets.images import ImageSamples
from dat_lib.datasets.official_counts import Expect, Group, check_counts
from dat_lib.datasets.registry import DatasetKind, Download
from dat_lib.datasets.source import SPLITS

FOLDER = "waterbirds_v1.0"
LAYOUT = """\
  waterbirds_v1.0/metadata.csv     columns img_filename, y, place, split
  waterbirds_v1.0/001.Black_footed_Albatross/*.jpg, and one such folder per species"""
KIND = DatasetKind(
    "waterbirds",
    gives="image files",
    download=Download(partial(wilds_archive, "waterbirds_dataset", "WaterbirdsDataset", FOLDER), FOLDER, LAYOUT),
)

_OFFICIAL: dict[Group, int] = {
    ("train", 0, 0): 3498,
    ("train", 0, 1): 184,
    ("train", 1, 0): 56,
    ("train", 1, 1): 1057,
    ("val", 0, 0): 467,
    ("val", 0, 1): 466,
    ("val", 1, 0): 133,
    ("val", 1, 1): 133,
    ("test", 0, 0): 2255,
    ("test", 0, 1): 2255,
    ("test", 1, 0): 642,
    ("test", 1, 1): 642,
}
_ADVICE = (
    "This is not waterbird_complete95_forest2water2 as published. Regenerated copies circulate, with other images on "
    "other backgrounds and other group sizes; results on them compare with nobody's. Use the folder of WILDS "
    'waterbirds v1.0, or set expect = "any" to accept what is there.'
)


def open_dataset(root: str | None, *, expect: Expect = "official") -> ImageFiles:
    """Open the folder. Classes: landbird, waterbird; attributes: land, water. The splits are the published ones."""
    folder = locate(root, FOLDER, ["metadata.csv"], LAYOUT)
    path = folder / "metadata.csv"
    samples = _samples(path)
    check_counts(samples, _OFFICIAL, expect, path, _ADVICE)
    return ImageFiles(folder, samples, ("metadata.csv",))


def _samples(path: Path) -> ImageSamples:
    columns = read_columns(path, ["img_filename", "y", "place", "split"])
    binary = {"0": 0, "1": 1}
    files = np.array(columns["img_filename"], dtype=np.str_)
    return ImageSamples(
        sample_ids=files,
        split=np.array(values_of(columns["split"], {str(i): name for i, name in enumerate(SPLITS)}, "split", path)),
        labels=np.array(values_of(columns["y"], binary, "y", path)),
        attributes=np.array(values_of(columns["place"], binary, "place", path)),
        files=files,
    )
