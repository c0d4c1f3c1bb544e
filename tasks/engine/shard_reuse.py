"""Shards of earlier artifacts, used again: where some images have changed, only their shards are embedded again.

A shard has a key of its own, over all that decides it: code, settings, facts, inputs, and of the input that is cut into
shards just its own rows. A shard is the smallest part that is embedded again, not a row: what a model makes of an image
may differ in the last bits with the images beside it in a batch, and a shard's batches are always the same. So what is
put together from old and new shards has the same bits as what is embedded from the beginning.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data_catalog.canonical import digest_json
from data_catalog.planning.cell import Cell
from data_catalog.store.artifacts import Store
from data_catalog.store.content import content_digest
from data_catalog.store.manifest import Manifest, StoredFile

_LENGTH = 32
"""Characters of a shard's key; manifests name every shard."""


def shard_keys(
    cell: Cell, step: Any, code: str, parents: Mapping[str, Manifest], inputs: Mapping[str, Any]
) -> list[str]:
    """Return the key of each shard that the module `step` makes, none where it does not cut an input into shards."""
    role = getattr(step, "SHARDED_BY", None)
    if role is None:
        return []
    decides = {
        "code": code,
        "params": cell.canonical_params,
        "facts": cell.canonical_facts,
        "parents": {name: parent.content for name, parent in sorted(parents.items()) if name != role},
    }
    table, rows = inputs[role], step.SHARD_ROWS
    slices = [content_digest(table.slice(start, rows)) for start in range(0, table.num_rows, rows)]
    return [digest_json({**decides, "rows": digest})[:_LENGTH] for digest in slices]


def bring_shards(store: Store, step: str, keys: Sequence[str], staging: Path) -> int:
    """Put shards that earlier artifacts have into a staging folder, in place of computing them; return how many.

    They are checked as those of an interrupted attempt are.
    """
    known: dict[str, StoredFile] = {}
    for manifest in store.manifests(step) if keys else ():
        known |= zip(manifest.summary.get("shard_keys", []), manifest.files, strict=False)
    present, brought = store.kept_shards(staging), 0
    for number, key in enumerate(keys):
        file = known.get(key)
        if file is None or number in present or not (store.home.root / file.path).is_file():
            continue
        _link(store.home.root / file.path, staging / f"shard-{number:06d}-{file.sha256}.parquet")
        brought += 1
    return brought


def _link(source: Path, place: Path) -> None:
    try:
        os.link(source, place)
    except OSError:
        shutil.copyfile(source, place)
