"""Finding dataset kinds by name.

A kind is a module that reads, draws or simulates a dataset and says so in its `KIND`. Ours are the modules beside this
one; other packages offer theirs by an entry point of the group `dat_bench.datasets`, name = "package.module".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dat_lib.kinds import Kinds

Gives = Literal["image files", "drawn images", "embeddings"]


@dataclass(frozen=True)
class Archive:
    """Where a dataset can be had."""

    url: str
    file_name: str
    sha256: str | None = None
    """None where nobody publishes one; the loader then still holds the group sizes against the official ones."""


@dataclass(frozen=True)
class Download:
    """How a public dataset is fetched."""

    archive: Callable[[], Archive]
    """Asked when there is something to fetch."""
    folder: str
    """What the archive is unpacked to, below the dataset's root."""
    layout: str
    """The files expected there, for messages."""


@dataclass(frozen=True)
class DatasetKind:
    """What a loader module declares as `KIND`.

    A module that gives "image files" has `open_dataset(root, **settings)`, which returns an `ImageFiles`; one of "drawn
    images" has the same, which returns an `ImageDataset`; one of "embeddings" has `open_source(**settings)`, which
    returns an `EmbeddingSource`. The settings are those of the spec, and decide numbers; `root` is a folder. The
    embeddings that a kind gives are those of the backbones of the same kind.
    """

    name: str
    gives: Gives
    words: bool = False
    """Whether the words of the prompts are settings too: `classes` and `attributes`."""
    required: bool = False
    """Whether a request for files that are not there is refused as a whole, rather than failing where they are read."""
    download: Download | None = None

    @property
    def offers(self) -> tuple[str, ...]:
        """The function that the module must have."""
        return ("open_source",) if self.gives == "embeddings" else ("open_dataset",)


DATASETS = Kinds("dataset", "dat_lib.datasets", "dat_bench.datasets", DatasetKind)
