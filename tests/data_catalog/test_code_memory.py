"""Remembered source files: the same versions, without reading what has not changed."""

import os
from pathlib import Path

import pytest

from data_catalog.planning import code_memory, code_version
from data_catalog.planning.code_memory import CodeMemory
from data_catalog.planning.code_version import CodeVersions

FILES = {
    "pack/__init__.py": "import lazy_loader\n__getattr__ = lazy_loader.attach_stub(__name__, __file__)\n",
    "pack/__init__.pyi": "from pack.one import first\n",
    "pack/one.py": "from pack.two import second\n\n\ndef first():\n    return second()\n",
    "pack/two.py": "def second():\n    return 2\n",
    "pack/user.py": "from pack import first\n",
}


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose files may be remembered, young as they are."""
    monkeypatch.setattr(code_memory, "_AT_REST", -(10**18))
    for name, text in FILES.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "src"


def versions(sources: Path) -> dict[str, str]:
    """Take the versions with the memory beside the sources, and compare them with those taken without one."""
    memory = CodeMemory(sources.parent / "code.json")
    found = CodeVersions((sources,), memory).closure(["pack.user"])
    memory.save()
    assert found == CodeVersions((sources,)).closure(["pack.user"])
    return found


def parsed(sources: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the modules that are read although there is a memory."""
    read: list[str] = []
    with monkeypatch.context() as patch:
        real = code_version._read_module
        patch.setattr(code_version, "_read_module", lambda name, path: read.append(name) or real(name, path))
        CodeVersions((sources,), CodeMemory(sources.parent / "code.json")).closure(["pack.user"])
    return sorted(read)


def test_what_has_not_changed_is_not_read_again(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = ["pack", "pack.one", "pack.two", "pack.user"]
    assert parsed(sources, monkeypatch) == everything
    assert sorted(versions(sources)) == everything
    assert parsed(sources, monkeypatch) == []
    assert sorted(versions(sources)) == everything


@pytest.mark.parametrize(
    ("file", "module"),
    [("pack/two.py", "pack.two"), ("pack/one.py", "pack.one"), ("pack/__init__.pyi", "pack")],
)
def test_a_changed_file_is_read_though_size_and_time_stay(
    sources: Path, monkeypatch: pytest.MonkeyPatch, file: str, module: str
) -> None:
    versions(sources)
    path = sources / file
    before = path.stat()
    path.write_text(path.read_text().replace("second", "secund").replace("first", "fitst"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert parsed(sources, monkeypatch) == [module]
    versions(sources)


def test_a_new_file_in_the_place_of_an_old_one_is_read(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions(sources)
    (sources / "pack/two").mkdir()
    (sources / "pack/two.py").rename(sources / "pack/two/__init__.py")
    assert parsed(sources, monkeypatch) == ["pack.two"]
    versions(sources)


@pytest.mark.parametrize("damage", ["", "{}", "x\n{}", "\x00"])
def test_a_damaged_memory_counts_for_nothing(sources: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    versions(sources)
    (sources.parent / "code.json").write_text(damage)
    assert len(parsed(sources, monkeypatch)) == 4
    versions(sources)


def test_a_memory_of_another_python_counts_for_nothing(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions(sources)
    monkeypatch.setattr(code_memory, "_recipe", lambda: "another")
    assert len(parsed(sources, monkeypatch)) == 4


def test_what_changed_a_moment_ago_is_not_remembered(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_memory, "_AT_REST", 3600 * 10**9)
    versions(sources)
    assert len(parsed(sources, monkeypatch)) == 4
    assert not (sources.parent / "code.json").exists()
