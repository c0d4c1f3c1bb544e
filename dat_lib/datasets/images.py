"""What a dataset of images hands on: samples with their files, and each image when it is asked for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dat_lib.arrays import BoolArray, IdArray
from dat_lib.datasets.source import SPLITS, DataError, Samples

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True)
class ImageSamples(Samples):
    """P samples with an image each."""

    files: IdArray
    """[P] paths relative to the dataset's root, with forward slashes; "" where an image is drawn rather than read."""


class UnreadableImage(DataError):  # noqa: N818
    """One image cannot be decoded; `file` says which and `why` says the reason."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(file, why)
        self.file = file
        self.why = why

    def __str__(self) -> str:
        return f"{self.file}: {self.why}"


class ChangedImage(UnreadableImage):
    """A file is not the one that was digested: its embedding would be kept as that of another image."""


class ImageDataset(Protocol):
    """Images of one dataset, all splits together.

    A loader module offers `open_dataset(root, **settings)`, which returns one. `root` is the folder that holds the
    files (None where none is read): a resource, never part of a key. Instances are pickled to worker processes.
    """

    def samples(self) -> ImageSamples:
        """Return all samples of all splits, always in the same order."""
        ...

    def open_image(self, row: int) -> "Image.Image":
        """Return the decoded image of a row of the samples, in a mode whose `convert("RGB")` keeps its brightness.

        Raises `UnreadableImage`.
        """
        ...


def sample_name(dataset: ImageDataset, row: int) -> str:
    """Return what a person finds an image by: its file, or its id where it is drawn."""
    samples = dataset.samples()
    return str(samples.files[row] or samples.sample_ids[row])


def overlap(samples: ImageSamples, reference_split: str) -> BoolArray:
    """Return [P] whether a test sample is also in the reference split, by its id or by its file.

    A reference that is itself under test makes a method look better than it is, so the count belongs beside the result.
    All False where the reference split is the test split itself.
    """
    if reference_split not in SPLITS:
        raise ValueError(f'reference_split must be one of {", ".join(SPLITS)}, not "{reference_split}"')
    test = samples.split == "test"
    if reference_split == "test":
        return np.zeros_like(test)
    references = samples.split == reference_split
    same_id = np.isin(samples.sample_ids, samples.sample_ids[references])
    read = samples.files != ""
    same_file = read & np.isin(samples.files, samples.files[references & read])
    shared: BoolArray = test & (same_id | same_file)
    return shared
