from pathlib import Path

import pytest

from dat_lib.datasets import image_folder
from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import DatasetNotFoundError
from dat_lib.datasets.source import DataError
from tests.dat_lib.datasets.miniatures import write_image


def opened(root: Path) -> ImageFiles:
    return image_folder.open_dataset(str(root), classes=["dark hair", "blonde hair"], attributes=["female", "male"])


def test_folders_say_split_class_and_attribute(tmp_path: Path) -> None:
    for number, file in enumerate(
        [
            "train/dark hair/male/b.png",
            "train/dark hair/male/a.JPG",
            "test/blonde hair/female/c.png",
            "val/dark hair/-1/d.png",
        ]
    ):
        write_image(tmp_path / file, number)
    (tmp_path / "train" / ".DS_Store").touch()
    dataset = opened(tmp_path)
    samples = dataset.samples()
    assert samples.files.tolist() == [
        "test/blonde hair/female/c.png",
        "train/dark hair/male/a.JPG",
        "train/dark hair/male/b.png",
        "val/dark hair/-1/d.png",
    ]
    assert samples.sample_ids.tolist() == samples.files.tolist()
    assert samples.split.tolist() == ["test", "train", "train", "val"]
    assert samples.labels.tolist() == [1, 0, 0, 0]
    assert samples.attributes.tolist() == [0, 1, 1, -1]
    assert dataset.open_image(3).size == (12, 9)


def test_positions_serve_where_a_word_cannot_name_a_folder(tmp_path: Path) -> None:
    write_image(tmp_path / "train" / "1" / "0" / "a.png", 0)
    samples = opened(tmp_path).samples()
    assert (samples.labels.tolist(), samples.attributes.tolist()) == ([1], [0])


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("training/dark hair/male/a.png", "training: is not a split"),
        ("train/dark/male/a.png", r'train/dark/male/a\.png: the class "dark" is unknown'),
        ("train/dark hair/men/a.png", 'the attribute "men" is unknown'),
        ("train/dark hair/a.png", r"a\.png: is not a folder"),
        ("train/dark hair/male/deep/a.png", "deep: is not an image"),
    ],
)
def test_what_does_not_fit_is_an_error_that_shows_the_layout(file: str, message: str, tmp_path: Path) -> None:
    write_image(tmp_path / file, 0)
    with pytest.raises(DataError, match=message):
        opened(tmp_path)


def test_a_file_that_is_no_image_is_not_passed_over(tmp_path: Path) -> None:
    write_image(tmp_path / "train" / "dark hair" / "male" / "a.png", 0)
    (tmp_path / "train" / "dark hair" / "male" / "notes.txt").touch()
    with pytest.raises(
        DataError, match=r"notes\.txt: is not an image \(.*\); expected is\n.*SPLIT/CLASS/ATTRIBUTE/IMAGE"
    ):
        opened(tmp_path)


def test_an_empty_or_missing_folder_shows_the_layout(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match=r"there is no image; expected is\n.*SPLIT/CLASS"):
        opened(tmp_path)
    with pytest.raises(DatasetNotFoundError, match="there is no such folder"):
        opened(tmp_path / "gone")
