from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dat_lib.datasets import sample_table
from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import DatasetNotFoundError
from dat_lib.datasets.images import overlap
from dat_lib.datasets.source import DataError
from tests.dat_lib.datasets.miniatures import write_image

WORDS: dict[str, Any] = {"classes": ["landbird", "waterbird"], "attributes": ["land", "water"]}


def table(root: Path, *rows: str, header: str = "file,label,attribute,split") -> ImageFiles:
    (root / "samples.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return sample_table.open_dataset(str(root), **WORDS)


def test_words_and_positions_say_the_same(tmp_path: Path) -> None:
    words = table(tmp_path, "a.png,landbird,water,train", "b.png,waterbird,land,test").samples()
    numbers = table(tmp_path, "a.png,0,1,train", "b.png,1,0,test").samples()
    for samples in (words, numbers):
        assert samples.labels.tolist() == [0, 1]
        assert samples.attributes.tolist() == [1, 0]
        assert samples.split.tolist() == ["train", "test"]
        assert samples.sample_ids.tolist() == samples.files.tolist() == ["a.png", "b.png"]


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    columns = {
        "file": ["x/a.png", "b.png"],
        "label": pa.array([0, 1], pa.int8()),
        "attribute": pa.array(["water", "land"]).dictionary_encode(),
        "split": ["train", "test"],
        "sample_id": ["one", "two"],
    }
    pq.write_table(pa.table(columns), tmp_path / "mine.parquet")
    write_image(tmp_path / "x" / "a.png", 0, mode="L")
    dataset = sample_table.open_dataset(str(tmp_path), table="mine.parquet", **WORDS)
    assert dataset.samples().sample_ids.tolist() == ["one", "two"]
    assert dataset.samples().attributes.tolist() == [1, 0]
    assert dataset.open_image(0).mode == "L"


def test_other_columns_quotes_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    dataset = table(tmp_path, '"a, b.png","line\none",0,1,train', header="\ufefffile,note,label,attribute,split")
    assert dataset.samples().files.tolist() == ["a, b.png"]


@pytest.mark.parametrize("text", ["file,label,attribute,split", "file,label,attribute,split\n", "\n\n", "\ufeff"])
def test_a_heading_alone_has_no_rows(tmp_path: Path, text: str) -> None:
    (tmp_path / "samples.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"samples\.csv: has no rows$"):
        sample_table.open_dataset(str(tmp_path), **WORDS)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("file;label;attribute;split", "its columns are separated by semicolons: save it as CSV with commas"),
        ("file\tlabel\tattribute\tsplit", "its columns are separated by tabs: save it as CSV with commas"),
        (
            "File, label,attribute,split",
            'capital letters and spaces count: write "File" as "file", " label" as "label"$',
        ),
        ("path,label,attribute,split", "no column file; there are: path, label, attribute, split$"),
    ],
)
def test_columns_in_another_form_are_said_to_be_so(tmp_path: Path, header: str, hint: str) -> None:
    with pytest.raises(DataError, match=hint):
        table(tmp_path, "a.png,0,1,train".replace(",", header[4]), header=header)


def test_utf_16_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "samples.csv").write_text("file,label,attribute,split\na.png,0,0,train\n", encoding="utf-16")
    with pytest.raises(DataError, match="is text in UTF-16; save it as CSV in UTF-8"):
        sample_table.open_dataset(str(tmp_path), **WORDS)


def test_minus_one_is_no_attribute_but_never_a_label(tmp_path: Path) -> None:
    assert table(tmp_path, "a.png,0,-1,train", "b.png,0,1,train").samples().attributes.tolist() == [-1, 1]
    assert table(tmp_path, "a.png,landbird,-1,train", "b.png,landbird,land,train").samples().attributes.tolist() == [
        -1,
        0,
    ]
    with pytest.raises(DataError, match='row 1: the label "-1" is unknown'):
        table(tmp_path, "a.png,-1,1,train")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("b.png,2,1,train", r'row 2: the label "2" is unknown.*words \(landbird, waterbird\) .*positions \(0 to 1\)'),
        ("b.png,Landbird,1,train", 'row 2: the label "Landbird"'),
        ("b.png,1.0,1,train", r'row 2: the label "1\.0"'),
        ("b.png,,1,train", 'row 2: the label ""'),
        ("b.png,0,water,train", 'row 2: the attribute "water" is unknown; give all of them as words'),
        ("b.png,0,1,validation", 'row 2 has the split "validation"; known are: train, val, test'),
        (",0,1,train", "row 2: the file is not given"),
        ("a.png,0,1,train", r'row 2: "a\.png" is in the split train already, in row 1'),
        ("../b.png,0,1,train", r"row 2: \.\./b\.png leads out of the dataset's folder"),
        ("/elsewhere/b.png,0,1,train", r"row 2: /elsewhere/b\.png is outside the dataset's folder"),
        ("b.png,0,1", "cannot be read as CSV.*Expected 4 columns, got 3"),
    ],
)
def test_a_wrong_row_is_named_with_what_is_wrong(row: str, message: str, tmp_path: Path) -> None:
    good = ["a.png,0,1,train"] if "the attribute" not in message else ["a.png,0,1,train", "c.png,0,0,train"]
    message = message if len(good) == 1 else message.replace("row 2", "row 3")
    with pytest.raises(DataError, match=message):
        table(tmp_path, *good, row)


def test_an_absolute_path_inside_the_folder_is_kept_relative(tmp_path: Path) -> None:
    assert table(tmp_path, f"{tmp_path}/x/./a.png,0,1,train").samples().files.tolist() == ["x/a.png"]


def test_the_same_image_in_two_splits_is_kept_and_found(tmp_path: Path) -> None:
    samples = table(tmp_path, "a.png,0,1,train", "a.png,0,1,test", "b.png,0,1,test").samples()
    assert overlap(samples, "train").tolist() == [False, True, False]


def test_an_id_names_one_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'row 2: "one" is b\.png here, but a\.png in row 1'):
        table(tmp_path, "a.png,0,1,train,one", "b.png,0,1,test,one", header="file,label,attribute,split,sample_id")
    with pytest.raises(DataError, match="row 1: the sample_id is not given"):
        table(tmp_path, "a.png,0,1,train,", header="file,label,attribute,split,sample_id")


def test_words_that_are_numbers_are_taken_as_words_unless_they_could_be_positions(tmp_path: Path) -> None:
    (tmp_path / "samples.csv").write_text("file,label,attribute,split\na,3,0,train\nb,8,0,test\n")
    samples = sample_table.open_dataset(str(tmp_path), classes=["3", "8"], attributes=["x"]).samples()
    assert samples.labels.tolist() == [0, 1]
    with pytest.raises(DataError, match="can be read as a word and as a position"):
        sample_table.open_dataset(str(tmp_path), classes=["3", "8"], attributes=["1", "0"])


def test_a_table_that_is_missing_or_no_table_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match=r"samples\.csv: there is no such file.*\n.*columns file, label"):
        sample_table.open_dataset(str(tmp_path), **WORDS)
    with pytest.raises(DatasetNotFoundError, match="no folder is given"):
        sample_table.open_dataset(None, **WORDS)
    with pytest.raises(DataError, match="no column label, attribute; there are: file, split"):
        table(tmp_path, "a.png,train", header="file,split")
    with pytest.raises(DataError, match="the column label occurs 2 times"):
        table(tmp_path, "a.png,0,0,0,train", header="file,label,label,attribute,split")
    with pytest.raises(DataError, match="has no rows"):
        table(tmp_path)
    (tmp_path / "samples.csv").write_bytes(b"")
    with pytest.raises(DataError, match="is empty"):
        sample_table.open_dataset(str(tmp_path), **WORDS)
    (tmp_path / "samples.csv").write_bytes("file,label,attribute,split\nÄ.png,0,0,train\n".encode("latin-1"))
    with pytest.raises(DataError, match="cannot be read as CSV"):
        sample_table.open_dataset(str(tmp_path), **WORDS)
    (tmp_path / "bad.parquet").write_bytes(b"no Parquet")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        sample_table.open_dataset(str(tmp_path), table="bad.parquet", **WORDS)


def test_a_parquet_column_of_another_kind_is_refused(tmp_path: Path) -> None:
    columns = {"file": ["a.png"], "label": [1.0], "attribute": [0], "split": ["train"]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="column label holds double, expected text or integers"):
        sample_table.open_dataset(str(tmp_path), table="a.parquet", **WORDS)
