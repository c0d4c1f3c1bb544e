"""A store that somebody else wrote: what is well sealed and says something else is damage, and stays in the home."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_catalog.canonical import digest_text
from data_catalog.specs.models import is_name
from data_catalog.store.manifest import parse_manifest
from tests.hostile.kinds import KINDS
from tests.hostile.kinds.kind import write_specs
from tests.hostile.kinds.specs import SPECS
from tests.hostile.mutating import put_in_place
from tests.hostile.trying import prepared
from tests.hostile.watching import World, dat


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> World:
    return prepared(KINDS["questions"], tmp_path_factory.mktemp("store") / "world")


@pytest.fixture
def world(finished: World, tmp_path: Path) -> World:
    shutil.copytree(finished.folder, tmp_path / "world")
    return World(tmp_path / "world")


def manifest_of(world: World) -> Path:
    return next((world.home / "manifests/predictions").glob("*.json"))


def resealed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(path.read_text())
    del data["digest"]
    change(data)
    body = json.dumps(data, indent=1, ensure_ascii=False)
    path.write_text(body.removesuffix("\n}") + f',\n "digest": "{digest_text(body)}"\n}}\n')


@pytest.mark.parametrize("path", ["../outside.txt", "objects/../../outside.txt", "{folder}/outside.txt"])
def test_what_a_manifest_names_outside_the_home_is_left_where_it_is(world: World, path: str) -> None:
    """`dat verify` sets aside what is not as its manifest says."""
    named = path.format(folder=world.folder)
    resealed(manifest_of(world), lambda data: data["files"][0].update(path=named, sha256="0" * 64))
    with pytest.raises(ValueError, match="outside the home"):
        parse_manifest(manifest_of(world).read_bytes())
    ran = dat(world, "verify")
    assert not ran.faults
    assert ran.code == 1
    assert (world.folder / "outside.txt").read_text() == "not yours"


@pytest.mark.parametrize(
    ("field", "value"),
    [("key", 3), ("address", []), ("address", {"dataset": [1]}), ("code", {"a": 1}), ("rows", "x"), ("params", None)],
)
def test_a_manifest_with_a_field_of_another_kind_is_damaged(world: World, field: str, value: object) -> None:
    resealed(manifest_of(world), lambda data: data.update({field: value}))
    for words in (("status",), ("sql", "SELECT * FROM artifacts"), ("verify",)):
        ran = dat(world, *words)
        assert not ran.faults
        assert ran.code == (1 if words == ("verify",) else 0)


@pytest.mark.parametrize("place", ["fifo", "zero", "folder", "loop"])
def test_a_pipe_or_a_device_in_a_store_is_not_waited_for(world: World, place: str) -> None:
    for path in (manifest_of(world), world.home / "runs/r000001.jsonl"):
        put_in_place(path, place)
    for words in (("status",), ("verify",)):
        assert not dat(world, *words, limit=60).faults


@pytest.mark.parametrize("name", ["a\n", "a b", "../a", "", ".a", "a/b", "a\x1b"])
def test_what_is_no_name_names_nothing(tmp_path: Path, name: str) -> None:
    assert not is_name(name)
    world = World(tmp_path)
    world.home.mkdir()
    write_specs(world, SPECS)
    if name and "/" not in name:
        shutil.copy(world.work / "specs/datasets/mine.toml", world.work / f"specs/datasets/{name}.toml")
    ran = dat(world, "run", "--dataset", name, "--backbone", "mine-clip")
    assert ran.code == 2
    assert not ran.faults
