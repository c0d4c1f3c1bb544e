"""Finding out the facts of cells about files: when their turn comes, and how they have changed since."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dat_lib.datasets.files.downloading import download
from dat_lib.datasets.registry import DATASETS
from data_catalog.errors import DamagedError
from data_catalog.planning.cell import Cell
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest
from data_catalog.store.source_files import AbsentError, Progress
from tasks.source_facts import ImageListing, facts_of, look_at_images, model_listing, source_files


def resolved(cell: Cell, progress: Progress) -> Cell:
    """Return the cell with every fact known that can be: a dataset that is not there is downloaded, and so is a model.

    A `ValueError`, or what the network raises, where that fails.
    """
    if None not in cell.facts.values():
        return cell
    files = source_files(cell.step, cell.params, cell.resources, progress)
    if cell.step == "weights":
        seen = files.look(lambda: model_listing(cell.params, cell.resources["weights"]))
    else:
        listing = ImageListing(cell.params, cell.resources["root"])
        try:
            seen = files.look(listing)
        except AbsentError as absent:
            fetch(cell, absent, progress)
            seen = files.look(listing)
    assert seen is not None
    known = {name: value for name, value in cell.facts.items() if value is not None}
    return replace(cell, facts={**known, **facts_of(cell.step, seen)})


def fetch(cell: Cell, absent: Exception, progress: Progress) -> None:
    """Download the public dataset that a cell reads; others are the user's to bring, which is what `absent` says."""
    kind = cell.params["kind"]
    if DATASETS.kind(kind).download is None:
        raise absent
    root = cell.resources["root"]
    download(kind, root, progress=lambda done, total: progress(kind, done, total or done))


@dataclass(frozen=True)
class ChangedImages:
    """Says how many images of a dataset have changed since an artifact of the step `files` was made."""

    params: Mapping[str, Any]
    resources: Mapping[str, Any]

    def __call__(self, store: Store, previous: Manifest) -> dict[str, str]:
        """Return {fact: what has changed}."""
        try:
            table = store.read(previous)
            seen = look_at_images(self.params, self.resources, lambda name, done, total: None)
        except (DamagedError, AbsentError, ValueError, OSError):
            return {}
        former = dict(zip(table.column("sample_id").to_pylist(), table.column("sha256").to_pylist(), strict=True))
        now = {id_: digest for id_, _, digest in seen.rows()}
        counts = {
            "changed": sum(1 for id_, digest in now.items() if id_ in former and former[id_] != digest),
            "added": len(now.keys() - former.keys()),
            "removed": len(former.keys() - now.keys()),
        }
        told = [f"{count:,} {what}" for what, count in counts.items() if count]
        if not told:
            return {"images": "images moved"}
        head, *rest = told
        count, what = head.split(" ")
        return {"images": ", ".join([f"{count} of {len(now):,} images {what}", *rest])}
