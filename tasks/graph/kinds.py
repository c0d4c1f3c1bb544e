"""The kinds that specs name: what each is, and what is said of one that nobody has registered."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dat_lib.backbones.registry import BACKBONES, BackboneKind
from dat_lib.datasets import embeddings_folder, simulated
from dat_lib.datasets.registry import DATASETS, DatasetKind
from dat_lib.suggestions import did_you_mean
from data_catalog.errors import UserError
from data_catalog.specs.models import BackboneSpec, DatasetSpec
from data_catalog.specs.toml import line_of, read_text

IMPORTED = embeddings_folder.KIND.name
"""What `dat import` reads: cells have this kind, specs name the import instead."""
PRECOMPUTED = "precomputed"
"""The backbones that exist as imported embeddings only."""


def dataset_kind(path: Path, spec: DatasetSpec) -> DatasetKind | None:
    """Return what the kind of a dataset declares, None for one without a source; a `UserError` names file and line."""
    source = spec.source
    if source is None:
        return None
    with _told(path, "source", "kind"):
        if source.kind == IMPORTED or source.kind not in DATASETS:
            known = [kind for kind in DATASETS.names() if kind != IMPORTED]
            raise ValueError(f'there is no dataset kind "{source.kind}"{did_you_mean(source.kind, known)}')
        kind = DATASETS.kind(source.kind)
    for unread in {"root", "tolerance"} & source.model_fields_set if kind.gives == "embeddings" else ():
        with _told(path, "source", unread):
            raise ValueError(f"{kind.name} gives embeddings and reads no images: leave it out")
    return kind


def backbone_kind(path: Path, spec: BackboneSpec) -> BackboneKind | None:
    """Return what the kind of a backbone declares; None for one without a model, whose embeddings come with a dataset.

    Those are imported, or given by a dataset of the same kind. A `UserError` names file and line.
    """
    with _told(path, "kind"):
        if spec.kind in BACKBONES:
            return BACKBONES.kind(spec.kind)
        if spec.kind != PRECOMPUTED and not _gives_embeddings(spec.kind):
            known = [*BACKBONES.names(), PRECOMPUTED, simulated.KIND.name]
            raise ValueError(f'there is no backbone kind "{spec.kind}"{did_you_mean(spec.kind, known)}')
        return None


def _gives_embeddings(kind: str) -> bool:
    return kind != IMPORTED and kind in DATASETS and DATASETS.kind(kind).gives == "embeddings"


@contextmanager
def _told(path: Path, *field: str) -> Iterator[None]:
    """Turn what is wrong with a field of a spec into an error that says where it stands."""
    try:
        yield
    except ValueError as error:
        line = line_of(read_text(path), field)
        raise UserError(f"line {line}, {'.'.join(field)}: {error}", where=str(path)) from error
