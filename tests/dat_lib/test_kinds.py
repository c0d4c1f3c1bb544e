"""Dataset and backbone kinds: ours are found by file, those of other packages by entry points."""

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from types import ModuleType
from typing import Any

import pytest

from dat_lib.backbones.registry import BACKBONES, BackboneKind
from dat_lib.datasets.registry import DATASETS, DatasetKind
from dat_lib.kinds import Kinds

SORTS = pytest.mark.parametrize("kinds", [DATASETS, BACKBONES], ids=["datasets", "backbones"])
HEAVY = ("torch", "torchvision", "wilds", "pandas", "transformers", "open_clip", "duckdb", "pyarrow", "PIL")


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Kinds[DatasetKind]]:
    """Pretend that a package offers the module `foreign` with this content, under these names; return the kinds."""

    def pretend(content: dict[str, Any], **targets: str) -> Kinds[DatasetKind]:
        module = ModuleType("foreign")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, "foreign", module)
        points = [metadata.EntryPoint(name, target, DATASETS.group) for name, target in targets.items()]
        monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == DATASETS.group else [])
        return Kinds("dataset", DATASETS.package, DATASETS.group, DatasetKind)

    return pretend


@SORTS
def test_every_module_that_declares_a_kind_is_found_under_its_name(kinds: Kinds[Any]) -> None:
    package = importlib.import_module(kinds.package)
    modules = [importlib.import_module(f"{kinds.package}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    declared = {module.KIND.name: module for module in modules if hasattr(module, "KIND")}
    assert declared
    for name, module in declared.items():
        assert kinds.module(name) is module
        assert kinds.kind(name) is module.KIND
        assert all(callable(getattr(module, function)) for function in module.KIND.offers)
    assert set(declared) == {name for name in kinds.names() if kinds.module(name).__name__.startswith(kinds.package)}


def test_our_kinds_are_those_that_the_shipped_specs_name() -> None:
    images = {"waterbirds", "celeba", "fmow", "covid", "sample_table", "image_folder", "toybirds"}
    assert images | {"simulated"} <= set(DATASETS.names())
    assert {"open_clip", "transformers"} <= set(BACKBONES.names())


@SORTS
def test_an_unknown_kind_is_refused_with_the_nearest_and_all_there_are(kinds: Kinds[Any]) -> None:
    name = kinds.names()[-1]
    with pytest.raises(ValueError, match=f'no {kinds.what} kind "{name}s"; did you mean "{name}"') as raised:
        kinds.module(f"{name}s")
    assert all(known in str(raised.value) for known in kinds.names())


def test_listing_kinds_imports_no_loader_and_looking_all_up_nothing_heavy() -> None:
    script = (
        "import sys; from dat_lib.datasets.registry import DATASETS; from dat_lib.backbones.registry import BACKBONES\n"
        "names = [DATASETS.names(), BACKBONES.names()]\n"
        "beside = ('registry', 'dat_lib.datasets', 'dat_lib.backbones')\n"
        "rooms = ('dat_lib.datasets', 'dat_lib.backbones')\n"
        "print([m for m in sys.modules if m.startswith(rooms) and not m.endswith(beside)])\n"
        "for kinds in (DATASETS, BACKBONES): [kinds.kind(name) for name in kinds.names()]\n"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]


def test_another_package_can_offer_a_kind_which_is_listed_without_an_import(offer: Callable[..., Any]) -> None:
    kind = DatasetKind("photos", gives="image files")
    kinds = offer({"KIND": kind, "open_dataset": print}, photos="foreign", gone="no_such_package.loader")
    assert {"photos", "gone", "waterbirds"} <= set(kinds.names())
    assert kinds.kind("photos") is kind
    with pytest.raises(ValueError, match=r'"gone" = no_such_package.loader cannot be loaded: ModuleNotFoundError'):
        kinds.module("gone")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, r"is not a module with a KIND = DatasetKind\(\.\.\.\)"),
        ({"KIND": BackboneKind("photos")}, r"is not a module with a KIND = DatasetKind\(\.\.\.\)"),
        ({"KIND": DatasetKind("pictures", "image files")}, 'gives the kind "pictures", expected "photos"'),
        ({"KIND": DatasetKind("photos", "image files")}, "has no function open_dataset"),
        ({"KIND": DatasetKind("photos", "embeddings"), "open_dataset": print}, "has no function open_source"),
    ],
)
def test_a_module_that_is_no_loader_is_refused(
    offer: Callable[..., Any], content: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f'dat_bench.datasets "photos" = foreign {message}'):
        offer(content, photos="foreign").module("photos")


def test_another_package_cannot_take_a_name_of_ours(offer: Callable[..., Any]) -> None:
    kinds = offer({}, waterbirds="foreign")
    with pytest.raises(ValueError, match='"waterbirds" = foreign takes a name that is in use'):
        kinds.names()
    assert kinds.module("waterbirds").__name__ == "dat_lib.datasets.waterbirds"
