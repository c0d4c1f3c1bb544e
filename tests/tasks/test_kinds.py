"""Kinds in specs: any that is registered, refused by file and line where none is; cells name kinds and no modules."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dat_lib.backbones.registry import BACKBONES
from dat_lib.datasets.registry import DATASETS
from data_catalog.errors import UserError
from data_catalog.specs.collection import Specs
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph
from tasks.graph.kinds import backbone_kind, dataset_kind


@pytest.fixture
def specs(tmp_path: Path) -> Specs:
    return Specs((Path(__file__).parents[2] / "data_catalog/specs", tmp_path), data=tmp_path / "data")


def write(specs: Specs, name: str, text: str) -> None:
    path = specs.folders[1] / f"{name}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            'kind = "waterbird"',
            '3, source.kind: there is no dataset kind "waterbird"; did you mean "waterbirds"? ',
        ),
        ('kind = "embeddings_folder"', '3, source.kind: there is no dataset kind "embeddings_folder"; '),
        ('kind = "simulated"\nroot = "."', "4, source.root: simulated gives embeddings and reads no images"),
        ('kind = "simulated"\ntolerance = 1', "4, source.tolerance: simulated gives embeddings and reads no images"),
    ],
)
def test_a_source_that_no_loader_serves_is_refused_where_it_stands(specs: Specs, source: str, expected: str) -> None:
    write(specs, "datasets/mine", f'prompts = "simbirds"\n[source]\n{source}\n')
    path = specs.path("datasets", "mine")
    with pytest.raises(UserError) as refused:
        dataset_kind(path, specs.dataset("mine"))
    assert str(refused.value).startswith(f"{path}: line {expected}")


@pytest.mark.parametrize("kind", ["openclip", "waterbirds", "embeddings_folder"])
def test_a_backbone_kind_that_no_library_serves_is_refused_where_it_stands(specs: Specs, kind: str) -> None:
    write(specs, "backbones/mine", f'title = "mine"\nkind = "{kind}"\n')
    path = specs.path("backbones", "mine")
    with pytest.raises(UserError) as refused:
        backbone_kind(path, specs.backbone("mine"))
    assert str(refused.value).startswith(f'{path}: line 2, kind: there is no backbone kind "{kind}"; ')
    assert "Known: open_clip, precomputed, simulated, transformers" in str(refused.value)


def test_every_shipped_spec_is_of_a_registered_kind(specs: Specs) -> None:
    for name in specs.names("datasets"):
        kind = dataset_kind(specs.path("datasets", name), specs.dataset(name))
        assert kind is not None
        assert kind.name in DATASETS
    without_model = {"precomputed", "simulated"}
    for name in specs.names("backbones"):
        spec = specs.backbone(name)
        kind_of_model = backbone_kind(specs.path("backbones", name), spec)
        assert (kind_of_model is None) == (spec.kind in without_model)
        assert spec.kind in without_model or spec.kind in BACKBONES


def test_no_cell_says_where_a_module_stands(specs: Specs, tmp_path: Path) -> None:
    asked = [one for name in specs.names("suites") for one in select(Selection(suite=name), specs)[0]]
    cells = Graph(specs, look=False).cells(asked)
    assert {"theory_fidelity", "samples", "weights", "image_embeddings"} <= {cell.step for cell in cells}
    for cell in cells:
        for text in texts([cell.params, cell.facts, cell.resources]):
            assert not text.startswith(("dat_lib.", "tasks.", "data_catalog.")), f"{cell.name}: {text}"


def texts(value: Any) -> Iterator[str]:
    """Yield every text in nested tables and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in (*value, *value.values()):
            yield from texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts(part)
