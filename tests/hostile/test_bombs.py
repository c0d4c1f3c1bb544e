"""Small files that unfold to large ones, and files that never end. Images: tests/dat_lib/datasets/test_decoding.py."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dat_lib.datasets.files import bounded_reading
from dat_lib.datasets.files.bounded_reading import check_width, read_parquet
from dat_lib.datasets.files.decoding import ImageFiles, read_image
from dat_lib.datasets.files.table_columns import read_columns
from dat_lib.datasets.images import ImageSamples, UnreadableImage
from dat_lib.datasets.source import DataError
from data_catalog.errors import UserError
from data_catalog.specs.models import Spec
from data_catalog.specs.toml import read_toml
from tests.hostile.kinds import KINDS
from tests.hostile.kinds.embeddings import IMPORT
from tests.hostile.mutating import put_in_place
from tests.hostile.trying import prepared
from tests.hostile.watching import dat


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bomb of some megabytes shows what one of a terabyte would do."""
    monkeypatch.setattr(bounded_reading, "ROOM", 10_000_000)


def many_rows(path: Path) -> None:
    table = pa.table({"prompt": pa.array(["x"]).take(pa.array(np.zeros(5_000_000, np.int32)))})
    pq.write_table(table, path, compression="zstd", row_group_size=5_000_000)


def one_long_text(path: Path) -> None:
    dictionary = pa.DictionaryArray.from_arrays(pa.array(np.zeros(5_000, np.int32)), pa.array(["y" * 500_000]))
    pq.write_table(pa.table({"prompt": dictionary}), path, compression="zstd", store_schema=False)


def many_values(path: Path) -> None:
    vectors = pa.ListArray.from_arrays(pa.array([0, 4_000_000], pa.int32()), pa.array(np.zeros(4_000_000, np.float32)))
    pq.write_table(pa.table({"prompt": vectors}), path, compression="zstd")


@pytest.mark.parametrize("make", [many_rows, one_long_text, many_values])
def test_parquet_that_unfolds_too_far_is_refused_before_it_does(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 50_000
    before = pa.total_allocated_bytes()
    with pytest.raises(DataError, match="bomb"):
        read_parquet(tmp_path / "bomb.parquet", ["prompt"])
    assert pa.total_allocated_bytes() - before < 5_000_000


def test_an_honest_file_is_read_as_it_is(tmp_path: Path) -> None:
    ids = [f"s{number}" for number in range(1000)]
    table = pa.table(
        {"a": ids, "b": pa.array(ids).dictionary_encode(), "c": list(range(1000)), "d": [[1.0, 2.0]] * 1000}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    found = read_parquet(tmp_path / "a.parquet", ["d", "a", "c"])
    assert found.column_names == ["d", "a", "c"]
    assert found.column("a").equals(table.column("a"))
    assert found.column("d").equals(table.column("d"))
    assert read_parquet(tmp_path / "a.parquet", ["b"]).column("b").to_pylist() == ids


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([["a"], ["b"]], names=["prompt", "prompt"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="the column prompt occurs 2 times"):
        read_parquet(tmp_path / "a.parquet", ["prompt"])


def test_one_endless_name_does_not_take_the_room_of_all(tmp_path: Path) -> None:
    """NumPy gives every text of an array the room of the longest."""
    texts = ["a"] * 100 + ["b" * 100_000]
    with pytest.raises(DataError, match="row 101: the file has 100,000 characters, too many for 101 rows"):
        check_width(texts, "file", tmp_path)
    (tmp_path / "samples.csv").write_text("file\n" + "\n".join(texts) + "\n")
    with pytest.raises(DataError, match="too many for 101 rows"):
        read_columns(tmp_path / "samples.csv", ["file"])


@pytest.mark.parametrize("file", ["prompts.toml", "images.parquet", "texts.parquet"])
@pytest.mark.parametrize("place", ["fifo", "zero", "folder", "loop", "memory"])
def test_a_pipe_a_device_or_a_folder_in_the_place_of_a_file(tmp_path: Path, file: str, place: str) -> None:
    world = prepared(KINDS["embeddings"], tmp_path / "world")
    put_in_place(world.work / "export" / file, place)
    ran = dat(world, *IMPORT, limit=30)
    assert ran.code == 2
    assert not ran.faults
    assert file in ran.err


@pytest.mark.parametrize("place", ["fifo", "zero", "folder", "loop", "memory"])
def test_no_spec_and_no_image_is_waited_for(tmp_path: Path, place: str) -> None:
    put_in_place(tmp_path / "a.toml", place)
    put_in_place(tmp_path / "a.png", place)
    with pytest.raises(UserError):
        read_toml(tmp_path / "a.toml", Spec)
    with pytest.raises(UnreadableImage):
        read_image(tmp_path, "a.png")


@pytest.mark.parametrize("text", ["x = " + "[" * 9000 + "]" * 9000, "x = " + "9" * 9000, ".".join("a" * 3000) + " = 1"])
def test_numbers_and_brackets_without_end_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(UserError):
        read_toml(tmp_path / "a.toml", Spec)


@pytest.mark.parametrize("file", ["/proc/version", "../a.png", "x/../../a.png", "a\0.png"])
def test_an_image_outside_its_dataset_is_not_opened(tmp_path: Path, file: str) -> None:
    zeros, names = np.zeros(1, dtype=np.int64), np.array([file])
    with pytest.raises(DataError, match="leads out of the dataset's folder"):
        ImageFiles(tmp_path, ImageSamples(names, np.array(["test"]), zeros, zeros, names))
