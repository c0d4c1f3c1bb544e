"""Checking specs: each file by itself, then the names they use and the cells they lead to."""

from pathlib import Path

from dat_lib.methods.registry import make_method
from data_catalog.errors import UserError
from data_catalog.specs.collection import MODELS, Kind, Specs
from data_catalog.specs.models import BackboneSpec, DatasetSpec, MethodSettings
from data_catalog.specs.toml import read_toml
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph
from tasks.graph.kinds import backbone_kind, dataset_kind


def check_specs(specs: Specs, files: list[Path] | None = None) -> tuple[list[Path], list[UserError]]:
    """Check the given spec files, or all there are; return those checked and what is wrong with them."""
    known = {
        path: kind for kind in MODELS for folder in specs.folders for path in sorted((folder / kind).glob("*.toml"))
    }
    chosen = files if files is not None else list(known)
    problems = []
    for path in chosen:
        try:
            _check(specs, path, known.get(path) or _kind_of(path))
        except UserError as error:
            problems.append(UserError(error.problem, where=error.where or str(path), remedy=error.remedy))
    return chosen, problems


def _kind_of(path: Path) -> Kind:
    for kind in MODELS:
        if path.parent.name == kind:
            return kind
    raise UserError(
        "is not in a folder that says what it is", where=str(path), remedy=f"use one of: {', '.join(MODELS)}"
    )


def _check(specs: Specs, path: Path, kind: Kind) -> None:
    spec = read_toml(path, MODELS[kind])
    if path in specs.files(kind, path.stem):
        specs.path(kind, path.stem)
    if isinstance(spec, DatasetSpec):
        dataset_kind(path, spec)
        specs.prompt_set(spec.prompts)
        for backbone in spec.embeddings:
            specs.backbone(backbone)
    elif isinstance(spec, BackboneSpec):
        backbone_kind(path, spec)
    elif isinstance(spec, MethodSettings):
        for settings in [spec.defaults, *spec.datasets.values()]:
            try:
                make_method(path.stem, settings)
            except ValueError as error:
                raise UserError(str(error), where=str(path)) from error
    elif kind == "suites":
        experiments, _ = select(Selection(suite=path.stem), specs)
        Graph(specs, look=False).cells(experiments)
