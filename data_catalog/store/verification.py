"""Verification: every file read again and compared with what was published; what is damaged is set aside."""

from collections.abc import Callable
from dataclasses import dataclass

from data_catalog.errors import DamagedError
from data_catalog.home import Home
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest
from data_catalog.store.source_files import Progress, Reread, SourceFiles


@dataclass(frozen=True)
class Damage:
    """One damaged or missing file, and the artifact it belongs to."""

    file: str
    step: str
    key: str
    cell: str
    problem: str


@dataclass(frozen=True)
class Verification:
    """What was read, and what was found damaged."""

    artifacts: int
    bytes: int
    damaged: tuple[Damage, ...]


def verify_sources(home: Home, progress: Progress = lambda name, done, total: None) -> dict[str, Reread]:
    """Read every file of datasets and models again that was ever looked at, whatever its times; return it by source.

    What has changed is remembered, so that the next plan names it.
    """
    memories = sorted(home.digests.glob("*.parquet"))
    return {path.stem: SourceFiles(path.stem.partition("-")[2], "", path, progress).reread() for path in memories}


def verify(store: Store, *, progress: Callable[[int, int], None] = lambda done, total: None) -> Verification:
    """Re-digest every committed artifact and set the damaged ones aside, so that the next run computes them again.

    An artifact whose file has gone is named too; there is nothing to set aside, and the next run computes it again.
    `progress` is called with the number of artifacts done and in all.
    """
    places = sorted(store.listing())
    damaged: list[Damage] = []
    size = 0
    for done, (step, key) in enumerate(places):
        progress(done, len(places))
        try:
            manifest = store.find(step, key)
        except DamagedError as error:
            damaged.append(Damage(_relative(store, error.where), step, key, "", error.problem))
            store.set_aside(step, key)
            continue
        if manifest is not None:
            damaged += _check_files(store, manifest)
            size += manifest.bytes
    progress(len(places), len(places))
    return Verification(len(places), size, tuple(damaged))


def _check_files(store: Store, manifest: Manifest) -> list[Damage]:
    found = []
    for file in manifest.files:
        try:
            store.check(manifest, file)
        except DamagedError as error:
            problem = error.problem.removesuffix(f" ({manifest.cell})")
            found.append(Damage(file.path, manifest.step, manifest.key, manifest.cell, problem))
            store.set_aside(manifest.step, manifest.key, file)
    return found


def _relative(store: Store, path: str | None) -> str:
    return (path or "").removeprefix(f"{store.home.root}/")
