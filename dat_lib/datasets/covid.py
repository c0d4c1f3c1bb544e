"""COVID-19 chest X-rays (Cohen et al. 2020) in the layout of their repository, with sex as the spurious attribute.

Frontal views (AP, AP Erect, PA, AP Supine) of patients whose sex is known: 719 of the 950 rows of `metadata.csv`. Class
1 is the finding "Pneumonia/Viral/COVID-19"; class 0 is everything else, other pneumonias and tuberculosis included,
although the prompts say "without Pneumonia".

Each of the four groups is cut at fixed rows, in the file's order, into train, val and test. `split = "clean"` does just
this. `split = "tie"` is what the notebook published with TIE does by mistake: its train split is every group from row
76 on and so contains all of val and test. Such an image is then listed once per split, under the same id, so that a
method recognises a query among its references. The notebook's data loader also drops the last test image (a woman
without COVID-19); here there are all 145.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import locate
from dat_lib.datasets.files.table_columns import read_columns
from dat_lib.datasets.images import ImageSamples
from dat_lib.datasets.official_counts import Expect, Group, check_counts
from dat_lib.datasets.registry import Archive, DatasetKind, Download

Split = Literal["clean", "tie"]

FOLDER = "covid-chestxray-dataset"
LAYOUT = """\
  covid-chestxray-dataset/metadata.csv     columns finding, sex, view, filename and others
  covid-chestxray-dataset/images/*.jpg, *.jpeg, *.png"""
_ARCHIVE = Archive(
    url="https://github.com/ieee8023/covid-chestxray-dataset/archive/7854329.zip",
    file_name="covid-chestxray-dataset.zip",
)
KIND = DatasetKind("covid", gives="image files", download=Download(lambda: _ARCHIVE, FOLDER, LAYOUT))

_COVID = "Pneumonia/Viral/COVID-19"
_FRONTAL = ("AP", "AP Erect", "PA", "AP Supine")
_ATTRIBUTES = {"F": 0, "M": 1}
_CUTS = {(1, 1): (183, 229), (1, 0): (92, 116), (0, 1): (107, 134), (0, 0): (76, 95)}
"""(class, attribute): the rows of the group at which val and test begin."""
_TIE_TRAIN_FROM = 76

_HELD_OUT: dict[Group, int] = {
    ("val", 0, 0): 19,
    ("val", 0, 1): 27,
    ("val", 1, 0): 24,
    ("val", 1, 1): 46,
    ("test", 0, 0): 24,
    ("test", 0, 1): 34,
    ("test", 1, 0): 29,
    ("test", 1, 1): 58,
}
_OFFICIAL: dict[str, dict[Group, int]] = {
    "clean": {("train", 0, 0): 76, ("train", 0, 1): 107, ("train", 1, 0): 92, ("train", 1, 1): 183, **_HELD_OUT},
    "tie": {("train", 0, 0): 43, ("train", 0, 1): 92, ("train", 1, 0): 69, ("train", 1, 1): 211, **_HELD_OUT},
}
_ADVICE = (
    "The cut points between the splits belong to the repository's metadata.csv of 950 rows (commit 7854329). Use that "
    'one, or set expect = "any" to cut another at the same rows.'
)


def open_dataset(root: str | None, *, split: Split = "clean", expect: Expect = "official") -> ImageFiles:
    """Open the folder. Classes: without, with COVID-19; attributes: female, male."""
    if split not in get_args(Split):
        raise ValueError(f'split must be one of {", ".join(get_args(Split))}, not "{split}"')
    folder = locate(root, FOLDER, ["metadata.csv"], LAYOUT)
    path = folder / "metadata.csv"
    samples = _samples(path, split)
    check_counts(samples, _OFFICIAL[split], expect, path, _ADVICE)
    return ImageFiles(folder, samples, ("metadata.csv",))


def _samples(path: Path, split: Split) -> ImageSamples:
    columns = read_columns(path, ["finding", "sex", "view", "filename"])
    groups: dict[tuple[int, int], list[int]] = {group: [] for group in _CUTS}
    for row, (finding, sex, view) in enumerate(zip(columns["finding"], columns["sex"], columns["view"], strict=True)):
        if view in _FRONTAL and sex in _ATTRIBUTES:
            groups[int(finding == _COVID), _ATTRIBUTES[sex]].append(row)
    listed = sorted(
        (name, row, label, attribute)
        for (label, attribute), rows in groups.items()
        for name, part in _parts(rows, _CUTS[label, attribute], split)
        for row in part
    )
    files = np.array([f"images/{columns['filename'][row]}" for _, row, _, _ in listed], dtype=np.str_)
    return ImageSamples(
        sample_ids=files,
        split=np.array([name for name, _, _, _ in listed], dtype=np.str_),
        labels=np.array([label for _, _, label, _ in listed], dtype=np.int64),
        attributes=np.array([attribute for _, _, _, attribute in listed], dtype=np.int64),
        files=files,
    )


def _parts(rows: list[int], cuts: tuple[int, int], split: Split) -> Iterator[tuple[str, list[int]]]:
    val, test = cuts
    yield "train", rows[:val] if split == "clean" else rows[_TIE_TRAIN_FROM:]
    yield "val", rows[val:test]
    yield "test", rows[test:]
