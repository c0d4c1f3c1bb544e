"""Finding a dataset's folder, and saying what is expected where it is not found."""

from collections.abc import Sequence
from pathlib import Path

from dat_lib.datasets.source import DataError


class DatasetNotFoundError(DataError):
    """The files of a dataset are not where they were looked for."""


def locate(root: str | None, folder: str, needed: Sequence[str], layout: str) -> Path:
    """Return the folder that holds all of `needed`.

    Looked at are `root` itself, `root/folder` and `folder` beside `root`, so that a folder in which the WILDS package
    keeps its datasets serves as it is. `layout` is what the message shows when nothing is found.
    """
    if root is None:
        raise DatasetNotFoundError(f"no folder is given for the dataset; expected is one with\n{layout}")
    given = Path(root)
    places = [given, given / folder, given.parent / folder]
    for place in places:
        if all((place / name).exists() for name in needed):
            return place
    for place in places:
        missing = [name for name in needed if not (place / name).exists()]
        if len(missing) < len(needed):
            raise DatasetNotFoundError(f"{place}: {', '.join(missing)} is missing; expected is\n{layout}")
    looked = ", ".join(str(place) for place in places)
    raise DatasetNotFoundError(f"{given}: the dataset is not there (looked in {looked}); expected is\n{layout}")
