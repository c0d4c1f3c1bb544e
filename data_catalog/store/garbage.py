"""Garbage collection: explicit in scope, dry unless told otherwise, never while a run is on."""

import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.index.reader import query
from data_catalog.store.artifacts import Store
from data_catalog.store.locking import sweep
from data_catalog.store.manifest import Manifest
from data_catalog.store.runs import no_runs

Scope = Literal["superseded", "orphans", "quarantine"]
SCOPES: dict[Scope, str] = {
    "superseded": "artifacts replaced by a newer version of their cell, unless a current one was made from them",
    "orphans": "files that no manifest refers to, left by killed runs",
    "quarantine": "damaged files that `dat verify` has set aside",
}
assert set(SCOPES) == set(get_args(Scope))
_DRAFT = re.compile(r"\.(clock\.\d+|(.+\.)?\d+\.[0-9a-f]{8})")
"""Names of small files as they are before they are whole. Whatever else is hidden in `DAT_HOME` is not ours."""


@dataclass(frozen=True)
class Garbage:
    """One file or folder that can go; `path` is relative to `DAT_HOME`."""

    scope: Scope
    path: str
    bytes: int
    cell: str = ""


def collect(home: Home, scopes: Collection[Scope], *, apply: bool = False) -> list[Garbage]:
    """Return what can go in the given scopes, and remove it when `apply` is set."""
    home.prepare()
    with no_runs(home):
        store = Store(home)
        manifests = list(store.manifests())
        garbage: list[Garbage] = []
        if "superseded" in scopes:
            garbage += _superseded_files(store, manifests, _needed_keys(home, manifests))
        if "orphans" in scopes:
            claimed = {file.path for manifest in manifests for file in manifest.files}
            garbage += [_garbage(home, "orphans", path) for path in _orphans(home, claimed)]
        if "quarantine" in scopes:
            garbage += [_garbage(home, "quarantine", path) for path in sorted(home.quarantine.glob("*"))]
        if apply:
            _remove(home, garbage)
    return garbage


def _needed_keys(home: Home, manifests: list[Manifest]) -> set[str]:
    """Return the keys of the current artifacts and of all that they were made from."""
    by_key = {manifest.key: manifest for manifest in manifests}
    waiting = [row[0] for row in query(home, "SELECT key FROM artifacts WHERE current").rows]
    needed: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in needed and key in by_key:
            needed.add(key)
            waiting += [parent.key for parent in by_key[key].parents.values()]
    return needed


def _superseded_files(store: Store, manifests: list[Manifest], needed: set[str]) -> list[Garbage]:
    home = store.home
    shared = {file.path for manifest in manifests if manifest.key in needed for file in manifest.files}
    found: dict[Path, str] = {}
    for manifest in manifests:
        if manifest.key not in needed:
            found[store.manifest_path(manifest.step, manifest.key)] = manifest.cell
            paths = [home.root / file.path for file in manifest.files if file.path not in shared]
            found.update({path: manifest.cell for path in paths if path.exists()})
    return [_garbage(home, "superseded", path, cell) for path, cell in found.items()]


def _orphans(home: Home, claimed: set[str]) -> list[Path]:
    objects = [path for path in home.objects.glob("*/*") if str(path.relative_to(home.root)) not in claimed]
    hidden = [*home.root.glob(".*"), *home.root.glob("stamps/.*"), *home.specs.glob("*/.*")]
    drafts = [path for path in hidden if _DRAFT.fullmatch(path.name) and path.is_file()]
    drafts += home.manifests.glob("*/.*")
    return sorted([*objects, *drafts, *home.staging.glob("[!.]*")])  # the draft of an index sees to itself


def _garbage(home: Home, scope: Scope, path: Path, cell: str = "") -> Garbage:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return Garbage(scope, str(path.relative_to(home.root)), sum(file.stat().st_size for file in files), cell)


def _remove(home: Home, garbage: list[Garbage]) -> None:
    """Manifests go first: an artifact must never be visible without its files."""
    for item in sorted(garbage, key=lambda item: not item.path.startswith("manifests/")):
        path = home.root / item.path
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    sweep(home.locks)
    update_index(home)
