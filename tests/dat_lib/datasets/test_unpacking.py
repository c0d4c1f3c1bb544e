import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dat_lib.datasets.files.unpacking import unpack
from dat_lib.datasets.source import DataError


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def file(name: str, content: bytes = b"content") -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), content


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


def zipped(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_a_tar_archive_becomes_a_folder(mode: str, tmp_path: Path) -> None:
    folder = special("sub", tarfile.DIRTYPE)
    archive = tar(tmp_path / "a", file("./a.txt"), folder, file("sub/b.txt"), file("b/c.txt"), mode=mode)
    unpack(archive, tmp_path / "target")
    assert contents(tmp_path / "target") == {"a.txt": "content", "sub/b.txt": "content", "b/c.txt": "content"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "target"]


def test_the_single_folder_at_the_top_of_a_repositorys_archive_is_left_away(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", **{"repo-7854329/metadata.csv": "a,b", "repo-7854329/images/x.png": "x"})
    unpack(archive, tmp_path / "target")
    assert contents(tmp_path / "target") == {"metadata.csv": "a,b", "images/x.png": "x"}


def test_permissions_of_the_archive_are_not_taken_over(tmp_path: Path) -> None:
    member, content = file("run.sh")
    member.mode = 0o4777
    unpack(tar(tmp_path / "a.tar.gz", (member, content), file("other")), tmp_path / "target")
    assert not (tmp_path / "target" / "run.sh").stat().st_mode & (stat.S_ISUID | stat.S_IXUSR)


ESCAPES = ["../escaped", "a/../../escaped", "/escaped", "..\\escaped", "C:/escaped", "a/../../../../../tmp/escaped"]


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize(
    "make",
    [
        lambda path, name: tar(path, file("a.txt"), file(name)),
        lambda path, name: zipped(path, **{"a.txt": "", name: "x"}),
    ],
)
def test_names_that_lead_out_of_the_folder_are_refused_and_nothing_is_left(
    make: Callable[[Path, str], Path], name: str, tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    archive = make(inner / "archive", name)
    with pytest.raises(DataError, match="would be written outside"):
        unpack(archive, inner / "target")
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]
    assert [path.name for path in inner.iterdir()] == ["archive"]


@pytest.mark.parametrize(
    "member",
    [
        special("link", tarfile.SYMTYPE, "/etc/passwd"),
        special("link", tarfile.SYMTYPE, "a.txt"),
        special("link", tarfile.LNKTYPE, "a.txt"),
        special("pipe", tarfile.FIFOTYPE),
        special("device", tarfile.CHRTYPE),
    ],
)
def test_links_and_devices_in_a_tar_archive_are_refused(member: tuple[tarfile.TarInfo, bytes], tmp_path: Path) -> None:
    archive = tar(tmp_path / "a.tar.gz", file("a.txt"), member)
    with pytest.raises(DataError, match="is a link or a device"):
        unpack(archive, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_link_in_a_zip_archive_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="is a link or a device"):
        unpack(tmp_path / "a.zip", tmp_path / "target")


@pytest.mark.parametrize("kind", ["tar", "zip", "text", "empty"])
def test_a_damaged_archive_leaves_no_folder(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    if kind == "tar":
        whole = tar(path, file("a.bin", bytes(range(256)) * 4000), file("b.bin")).read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", b"0" * 1000)
        path.write_bytes(path.read_bytes().replace(b"0" * 10, b"1" * 10, 1))
    elif kind == "text":
        path.write_text("<html>not found</html>")
    else:
        tar(path)
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(path, tmp_path / "target")
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]


def test_a_file_where_a_folder_should_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(tar(tmp_path / "a.tar.gz", file("a"), file("a/b")), tmp_path / "target")


def test_what_an_interrupted_unpacking_left_behind_does_not_get_in(tmp_path: Path) -> None:
    (tmp_path / "target.unpacking").mkdir()
    (tmp_path / "target.unpacking" / "stale.txt").touch()
    (tmp_path / "target").mkdir()
    unpack(tar(tmp_path / "a.tar.gz", file("a.txt"), file("b.txt")), tmp_path / "target")
    assert set(contents(tmp_path / "target")) == {"a.txt", "b.txt"}


def test_a_folder_that_holds_something_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(tar(tmp_path / "a.tar.gz", file("a.txt")), tmp_path / "target")
    assert contents(tmp_path / "target") == {"mine.txt": "mine"}
