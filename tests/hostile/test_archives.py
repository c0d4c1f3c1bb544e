"""Archives that attack whoever unpacks them. Escaping names, links and devices are in test_unpacking.py."""

import gzip
import io
import resource
import tarfile
import zipfile
from pathlib import Path

import pytest

from dat_lib.datasets.files import unpacking
from dat_lib.datasets.files.unpacking import unpack
from dat_lib.datasets.source import DataError

ROOM = 2_000_000


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bomb of a few megabytes shows what one of a terabyte would do."""
    monkeypatch.setattr(unpacking, "_ROOM", ROOM)


def refused(archive: Path, target: Path, message: str) -> None:
    with pytest.raises(DataError, match=message):
        unpack(archive, target)
    assert [path.name for path in archive.parent.iterdir()] == [archive.name], "nothing is left"


def zeros(count: int) -> tuple[tarfile.TarInfo, io.BytesIO]:
    member = tarfile.TarInfo("zeros")
    member.size = count
    return member, io.BytesIO(bytes(count))


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_tar_bomb_ends_when_it_has_unfolded_too_far(mode: str, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bomb", mode) as archive:
        archive.addfile(*zeros(30_000_000))
    refused(tmp_path / "bomb", tmp_path / "target", "decompression bomb")


def test_a_zip_bomb_ends_when_it_has_unfolded_too_far(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(30_000_000))
    refused(tmp_path / "bomb", tmp_path / "target", "decompression bomb")


def test_a_zip_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(30_000_000))
    true, lie = ((size).to_bytes(4, "little") for size in (30_000_000, 10))
    (tmp_path / "bomb").write_bytes((tmp_path / "bomb").read_bytes().replace(true, lie))
    refused(tmp_path / "bomb", tmp_path / "target", "cannot be unpacked|decompression bomb")


def test_a_bomb_of_empty_files_fills_no_disk(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bomb", "w:gz") as archive:
        for number in range(2_000):
            archive.addfile(tarfile.TarInfo(f"{number}"))
    refused(tmp_path / "bomb", tmp_path / "target", "decompression bomb")


def test_one_small_file_named_a_thousand_times_over_is_refused(tmp_path: Path) -> None:
    """Files in a zip may share their bytes, so that a small archive is a large one without any compression of note."""
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("kernel", bytes(100_000))
        kernel = archive.infolist()[0]
        for number in range(1_000):
            copy = zipfile.ZipInfo(f"copy{number}")
            for name in ("header_offset", "compress_type", "CRC", "compress_size", "file_size"):
                setattr(copy, name, getattr(kernel, name))
            archive.filelist.append(copy)
            archive.NameToInfo[copy.filename] = copy
        archive._didModify = True
    refused(tmp_path / "bomb", tmp_path / "target", "cannot be unpacked|decompression bomb")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME], ids=["pax", "gnu"])
def test_a_header_that_claims_to_be_huge_is_not_read_into_memory(kind: bytes, tmp_path: Path) -> None:
    header = tarfile.TarInfo("header")
    header.type, header.size = kind, 600_000_000
    with gzip.open(tmp_path / "bomb", "wb", 1) as stream:
        stream.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(600):
            stream.write(bytes(1_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(tmp_path / "bomb", tmp_path / "target", "a header of 600000000 bytes")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "in KiB"


def test_folders_within_folders_by_the_hundred_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "deep", "w:gz") as archive:
        for depth in (400, 800, 1_200):
            archive.addfile(tarfile.TarInfo("d/" * depth + "x"))
    refused(tmp_path / "deep", tmp_path / "target", "folders deep")


def test_honest_archives_may_be_larger_than_a_bombs_room(tmp_path: Path) -> None:
    noise = bytes(range(256)) * 100 + b"".join(number.to_bytes(4, "big") for number in range(700_000))
    with tarfile.open(tmp_path / "data", "w") as archive:
        member = tarfile.TarInfo("noise")
        member.size = len(noise)
        archive.addfile(member, io.BytesIO(noise))
    assert len(noise) > ROOM
    unpack(tmp_path / "data", tmp_path / "target")
    assert (tmp_path / "target/noise").read_bytes() == noise
