"""Miniature folders in the official layouts of the datasets: the same files and columns, with few small images or none.

`sizes` are group sizes by (split, class, attribute); rows of the groups are mixed as those of the real files are.
"""

import csv
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

Sizes = Mapping[tuple[str, int, int], int]

FEW: Sizes = {
    ("train", 0, 0): 4,
    ("train", 0, 1): 2,
    ("train", 1, 0): 1,
    ("train", 1, 1): 3,
    ("val", 0, 1): 2,
    ("val", 1, 0): 1,
    ("test", 0, 0): 2,
    ("test", 0, 1): 2,
    ("test", 1, 0): 1,
    ("test", 1, 1): 2,
}
_SPLIT_NUMBERS = {"train": 0, "val": 1, "test": 2}


def waterbirds(root: Path, sizes: Sizes = FEW, *, images: bool = True) -> Path:
    """WILDS `waterbirds_v1.0`."""
    folder = _folder(root, "waterbirds_v1.0", "RELEASE_v1.0.txt")
    rows = []
    for number, (split, label, place) in enumerate(_mixed(sizes), start=1):
        species = f"{number % 5 + 1:03d}.Species_{number % 5 + 1}"
        file = f"{species}/Bird_{number:04d}.jpg"
        rows.append((number, file, label, _SPLIT_NUMBERS[split], place, f"/b/{number}.jpg"))
        if images:
            write_image(folder / file, number)
    _write(folder / "metadata.csv", ["img_id", "img_filename", "y", "split", "place", "place_filename"], rows)
    return folder


def celeba(root: Path, sizes: Sizes = FEW, *, images: bool = True) -> Path:
    """WILDS `celebA_v1.0`; three of the forty attributes."""
    folder = _folder(root, "celebA_v1.0", "RELEASE_v1.0.txt")
    attributes, partition = [], []
    for number, (split, blond, male) in enumerate(_mixed(sizes), start=1):
        name = f"{number:06d}.jpg"
        attributes.append((name, 2 * blond - 1, 1 if number % 3 else -1, 2 * male - 1))
        partition.append((name, _SPLIT_NUMBERS[split]))
        if images:
            write_image(folder / "img_align_celeba" / name, number)
    _write(folder / "list_attr_celeba.csv", ["image_id", "Blond_Hair", "Eyeglasses", "Male"], attributes)
    _write(folder / "list_eval_partition.csv", ["image_id", "partition"], partition)
    return folder


FMOW_ROWS: Sequence[tuple[str, str, str, str]] = (
    ("train", "airport", "JPN", "2012-12-31T23:59:59Z"),
    ("train", "zoo", "FRA", "2002-07-01T10:00:00Z"),
    ("seq", "zoo", "FRA", "2016-07-01T10:00:00Z"),
    ("train", "port", "KEN", "2013-01-01T00:00:00Z"),
    ("val", "port", "KEN", "2013-01-01T00:00:00Z"),
    ("val", "dam", "BRA", "2015-12-31T23:59:59Z"),
    ("val", "dam", "BRA", "2012-06-01T00:00:00Z"),
    ("test", "barn", "FJI", "2016-01-01T00:00:00Z"),
    ("test", "multi-unit_residential", "KO-", "2017-05-05T05:05:05Z"),
    ("test", "barn", "AUS", "2015-12-31T23:59:59Z"),
    ("test", "barn", "JPN", "2009-01-01T00:00:00Z"),
    ("test", "lighthouse", "FRA", "2016-03-01T00:00:00Z"),
)
"""split, category, country, timestamp: each split, each region, and the first and last seconds of the periods."""

_COUNTRIES = {"FJI": "Oceania", "FRA": "Europe", "JPN": "Asia", "BRA": "Americas", "KEN": "Africa", "AUS": "Oceania"}


def fmow(root: Path, rows: Iterable[tuple[str, str, str, str]] = FMOW_ROWS, *, images: bool = True) -> Path:
    """WILDS `fmow_v1.1`. Antarctica has no region in the real mapping, as here."""
    folder = _folder(root, "fmow_v1.1", "RELEASE_v1.1.txt")
    table = []
    for number, (split, category, country, timestamp) in enumerate(rows):
        table.append((number, split, f"{category}_{number}_rgb.jpg", category, country, timestamp))
        if images:
            write_image(folder / "images" / f"rgb_img_{number}.png", number)
    names = ["", "split", "img_filename", "category", "country_code", "timestamp"]
    _write(folder / "rgb_metadata.csv", names, table)
    countries = [(f"Country {code}", code, region) for code, region in [*_COUNTRIES.items(), ("ATA", "")]]
    _write(folder / "country_code_mapping.csv", ["name", "alpha-3", "region"], countries)
    return folder


COVID_GROUPS = {(1, 1): 287, (1, 0): 145, (0, 1): 168, (0, 0): 119}
"""(class, attribute): frontal images of patients of known sex in the real metadata."""


def covid(root: Path, groups: Mapping[tuple[int, int], int] = COVID_GROUPS) -> Path:
    """The repository's `metadata.csv`, without images; every fifth row is one that is left out."""
    folder = root / "covid-chestxray-dataset"
    (folder / "images").mkdir(parents=True)
    rows = []
    findings = ("Pneumonia/Viral/SARS", "todo", "No Finding", "Tuberculosis", "Pneumonia")
    for number, (_, label, male) in enumerate(_mixed({("", *group): size for group, size in groups.items()})):
        finding = "Pneumonia/Viral/COVID-19" if label else findings[number % 5]
        note = 'She said "cough",\nthen left' if number % 7 == 0 else ""
        view = ("AP", "AP Erect", "PA", "AP Supine")[number % 4]
        rows.append((number, "M" if male else "F", finding, view, "images", f"image_{number}.png", note, ""))
        if number % 5 == 0:
            rows.append(
                (number, "" if number % 2 else "F", finding, "PA" if number % 2 else "L", "images", "x", "", "")
            )
    _write(
        folder / "metadata.csv",
        ["patientid", "sex", "finding", "view", "folder", "filename", "clinical_notes", ""],
        rows,
    )
    return folder


def write_image(path: Path, seed: int, *, mode: str = "RGB", size: tuple[int, int] = (12, 9)) -> None:
    """Write an image of noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(noise).convert(mode).save(path)


def _folder(root: Path, name: str, release: str) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / release).touch()
    return folder


def _mixed(sizes: Sizes) -> list[tuple[str, int, int]]:
    rows = [group for group, size in sizes.items() for _ in itertools.repeat(None, size)]
    order = np.random.default_rng(0).permutation(len(rows))
    return [rows[index] for index in order]


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(names)
        writer.writerows(rows)
