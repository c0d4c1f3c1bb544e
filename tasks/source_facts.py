"""What the files of users decide: digests of tables, images and weights, as facts of the cells that read them.

A fact that is None is not known yet: the files are not there, or only the model's library can tell which they are. It
is found out when the cell's turn comes, before anything is decided about it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dat_lib.backbones.registry import BACKBONES
from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import DatasetNotFoundError
from dat_lib.datasets.registry import DATASETS
from dat_lib.datasets.source import DataError
from data_catalog.canonical import digest_json
from data_catalog.store.source_files import AbsentError, Listing, Progress, Seen, SourceFiles
from tasks.loaders import open_dataset

UNKNOWN: Mapping[str, dict[str, None]] = {
    "samples": {"tables": None},
    "files": {"images": None},
    "weights": {"weights_sha256": None},
}
"""The facts of each step that reads files, before they are known."""


def look_at_images(params: Mapping[str, Any], resources: Mapping[str, Any], progress: Progress) -> Seen:
    """Return the files of a dataset of images; `AbsentError` where they are not there and never were."""
    seen = source_files("files", params, resources, progress).look(ImageListing(params, resources["root"]))
    assert seen is not None
    return seen


def look_at_model(params: Mapping[str, Any], resources: Mapping[str, Any], progress: Progress) -> Seen | None:
    """Return the files of a model, None before the first time that it is opened, and when there are others now."""
    return source_files("weights", params, resources, progress).look(None)


def source_files(step: str, params: Mapping[str, Any], resources: Mapping[str, Any], progress: Progress) -> SourceFiles:
    """Return what is remembered of the files that a cell reads."""
    kinds, place = (BACKBONES, "weights") if step == "weights" else (DATASETS, "root")
    origin = {
        "kind": params["kind"],
        "settings": params["settings"],
        "place": resources[place],
        "code": _code(str(kinds.module(params["kind"]).__file__)),
    }
    memory = resources["digests"]
    name = Path(memory or "files").stem.partition("-")[2]
    return SourceFiles(name, digest_json(origin), Path(memory) if memory else None, progress)


def facts_of(step: str, seen: Seen) -> dict[str, str | None]:
    """Return the facts of the cell of a step. They say what is in the files, never where these lie."""
    if step == "files":
        return {"images": seen.digest}
    if step == "weights":
        rows = [[Path(file).name, digest] for _, file, digest in seen.rows()]
        return {"weights_sha256": digest_json(rows)}
    root = Path(seen.listing.root)
    tables = {name: digest for name, digest in seen.says.items() if not (root / name).is_dir()}
    folders = {name: digest for name, digest in seen.says.items() if name not in tables}
    return {**tables, **({"folders": digest_json(folders)} if folders else {})}


def unchanged(step: str, params: Mapping[str, Any], resources: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether the files of a dataset still are what the facts say: one may change while it is read."""
    seen = look_at_images(params, resources, lambda name, done, total: None)
    return all(facts[name] == value for name, value in facts_of(step, seen).items())


@dataclass(frozen=True)
class ImageListing:
    """Opens a dataset to find out which files it has."""

    params: Mapping[str, Any]
    root: str

    def __call__(self) -> Listing:
        """Return them; `AbsentError` where there is none."""
        try:
            dataset = open_dataset(self.params, self.root)
        except DatasetNotFoundError as absent:
            raise AbsentError(str(absent)) from absent
        if not isinstance(dataset, ImageFiles):
            raise DataError(f"the dataset kind {self.params['kind']} gives {type(dataset).__name__}, no ImageFiles")
        samples = dataset.samples()
        files, ids = tuple(samples.files.tolist()), tuple(samples.sample_ids.tolist())
        return Listing(str(dataset.root), dataset.says, files, ids)


def model_listing(params: Mapping[str, Any], weights: str | None) -> Listing:
    """Ask a model's library for its files, which are fetched if they are not there."""
    files: Iterable[Path] = BACKBONES.module(params["kind"]).backbone_files(weights, **params["settings"])
    paths = tuple(str(path.absolute()) for path in files)
    folders = {str(Path(path).parent) for path in paths}
    which = {path for path in paths if "refs" in Path(path).parts}
    return Listing("", tuple(sorted(folders | which)), paths)


@cache
def _code(loader: str) -> str:
    """Return a digest of a loader's file and of all readers beside it: another version of them may list other files."""
    path = Path(loader)
    beside = sorted(path.parent.rglob("*.py")) if (path.parent / "__init__.py").is_file() else [path]
    return digest_json([path.read_text(encoding="utf-8") for path in beside])
