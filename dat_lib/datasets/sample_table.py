"""Anybody's own images: a CSV or Parquet file that lists them.

One row per image, with the columns `file` (path relative to the dataset's folder), `label`, `attribute`, `split`
("train", "val" or "test") and, if wanted, `sample_id` (otherwise the file is the id). Labels and attributes are words
of the prompt set or their positions from 0; the attribute -1 stands for none of the words. The same image may stand in
several splits, but only once in each.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import DatasetNotFoundError
from dat_lib.datasets.files.table_columns import at_row, read_columns, values_of
from dat_lib.datasets.images import ImageSamples
from dat_lib.datasets.prompt_words import positions
from dat_lib.datasets.registry import DatasetKind
from dat_lib.datasets.source import SPLITS, DataError

KIND = DatasetKind("sample_table", gives="image files", words=True, required=True)
_PLAIN = re.compile(r"[^./\\][^/\\]*(?:/[^./\\][^/\\]*)*")
LAYOUT = """\
  samples.csv     columns file, label, attribute, split and, if wanted, sample_id; or a Parquet file with the same
  and the images, wherever the column file says, relative to this folder"""


def open_dataset(
    root: str | None, *, classes: Sequence[str], attributes: Sequence[str], table: str = "samples.csv"
) -> ImageFiles:
    """Open the table `root/table`. `classes` and `attributes` are the words of the prompt set."""
    if root is None:
        raise DatasetNotFoundError(f"no folder is given for the dataset; expected is one with\n{LAYOUT}")
    folder = Path(root)
    path = folder / table
    if not path.is_file():
        raise DatasetNotFoundError(f"{path}: there is no such file; expected is\n{LAYOUT}")
    return ImageFiles(folder, _samples(folder, path, classes, attributes), (os.path.relpath(path, folder),))


def _samples(folder: Path, path: Path, classes: Sequence[str], attributes: Sequence[str]) -> ImageSamples:
    columns = read_columns(path, ["file", "label", "attribute", "split"], ["sample_id"])

    def at(index: int) -> str:
        return at_row(path, index + 1)

    files = [_relative(folder, file, at(index)) for index, file in enumerate(columns["file"])]
    ids = columns.get("sample_id", files)
    split = values_of(columns["split"], {name: name for name in SPLITS}, "split", path)
    _check_ids(ids, split, files, path)
    return ImageSamples(
        sample_ids=np.array(ids, dtype=np.str_),
        split=np.array(split, dtype=np.str_),
        labels=np.array(positions(columns["label"], classes, "label", at), dtype=np.int64),
        attributes=np.array(
            positions(columns["attribute"], attributes, "attribute", at, none_allowed=True), dtype=np.int64
        ),
        files=np.array(files, dtype=np.str_),
    )


def _relative(folder: Path, file: str, at: str) -> str:
    """Return a file as it is kept: relative to the folder, so that a key does not depend on where the folder is."""
    if not file:
        raise DataError(f"{at}: the file is not given")
    if _PLAIN.fullmatch(file):
        return file  # as nearly all are; taking paths apart is slow
    path = Path(file)
    if path.is_absolute():
        try:
            path = path.relative_to(folder.absolute())
        except ValueError:
            raise DataError(f"{at}: {file} is outside the dataset's folder {folder}") from None
    if ".." in path.parts:
        raise DataError(f'{at}: {file} leads out of the dataset\'s folder; paths must not contain ".."')
    return str(PurePosixPath(*path.parts))


def _check_ids(ids: Sequence[str], split: Sequence[str], files: Sequence[str], path: Path) -> None:
    """An id names one image: it may stand in several splits, but once in each and always with the same file."""
    seen: dict[tuple[str, str], int] = {}
    file_of: dict[str, tuple[str, int]] = {}
    for row, (sample, part, file) in enumerate(zip(ids, split, files, strict=True), start=1):
        if not sample:
            raise DataError(f"{at_row(path, row)}: the sample_id is not given")
        first = seen.setdefault((sample, part), row)
        if first != row:
            raise DataError(f'{at_row(path, row)}: "{sample}" is in the split {part} already, in row {first}')
        other, first = file_of.setdefault(sample, (file, row))
        if other != file:
            raise DataError(f'{at_row(path, row)}: "{sample}" is {file} here, but {other} in row {first}')
