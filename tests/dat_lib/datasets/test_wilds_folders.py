"""Waterbirds, CelebA and FMoW, read from miniature folders in the official layout."""

import csv
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dat_lib.arrays import NO_ATTRIBUTE
from dat_lib.datasets import celeba, fmow, waterbirds
from dat_lib.datasets.files.locating import DatasetNotFoundError
from dat_lib.datasets.images import ImageSamples
from dat_lib.datasets.source import DataError
from tests.dat_lib.datasets import miniatures

WATERBIRDS = {
    "train": ((3498, 184), (56, 1057)),
    "val": ((467, 466), (133, 133)),
    "test": ((2255, 2255), (642, 642)),
}
REGENERATED = {
    "train": ((3525, 186), (54, 1030)),
    "val": ((452, 452), (147, 148)),
    "test": ((2255, 2255), (642, 642)),
}
CELEBA = {
    "train": ((71629, 66874), (22880, 1387)),
    "val": ((8535, 8276), (2874, 182)),
    "test": ((9767, 7535), (2480, 180)),
}


def sizes(table: dict[str, tuple[tuple[int, int], tuple[int, int]]]) -> miniatures.Sizes:
    return {(split, y, a): table[split][y][a] for split in table for y in (0, 1) for a in (0, 1)}


def groups(samples: ImageSamples) -> Counter[tuple[str, int, int]]:
    return Counter(zip(samples.split.tolist(), samples.labels.tolist(), samples.attributes.tolist(), strict=True))


@pytest.mark.parametrize(("loader", "make"), [(waterbirds, miniatures.waterbirds), (celeba, miniatures.celeba)])
def test_a_miniature_folder_gives_its_groups_and_every_image(loader, make, tmp_path: Path) -> None:
    make(tmp_path)
    dataset = loader.open_dataset(str(tmp_path), expect="any")
    samples = dataset.samples()
    assert groups(samples) == miniatures.FEW
    assert len(set(samples.sample_ids.tolist())) == len(samples.sample_ids) == sum(miniatures.FEW.values())
    assert not dataset.missing_files().size
    assert {dataset.open_image(row).size for row in range(len(samples.files))} == {(12, 9)}


@pytest.mark.parametrize(
    ("loader", "make", "table"),
    [(waterbirds, miniatures.waterbirds, WATERBIRDS), (celeba, miniatures.celeba, CELEBA)],
)
def test_the_official_group_sizes_are_accepted_and_one_image_less_is_not(loader, make, table, tmp_path: Path) -> None:
    folder = make(tmp_path, sizes(table), images=False)
    assert groups(loader.open_dataset(str(tmp_path)).samples()) == sizes(table)
    for path in folder.glob("*.csv"):
        path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(DataError, match=r"\((train|val|test) class \d attribute \d: \d+ instead of \d+\)"):
        loader.open_dataset(str(tmp_path))


def test_regenerated_waterbirds_are_refused_with_an_explanation(tmp_path: Path) -> None:
    miniatures.waterbirds(tmp_path, sizes(REGENERATED), images=False)
    with pytest.raises(DataError, match=r"train class 1 attribute 0: 54 instead of 56.*Regenerated copies circulate"):
        waterbirds.open_dataset(str(tmp_path))
    assert len(waterbirds.open_dataset(str(tmp_path), expect="any").samples().labels) == 11788


def test_a_miniature_is_refused_unless_any_sizes_are_expected(tmp_path: Path) -> None:
    miniatures.fmow(tmp_path, images=False)
    with pytest.raises(DataError, match="train: 2 instead of 76863"):
        fmow.open_dataset(str(tmp_path))
    with pytest.raises(ValueError, match="expect must be one of official, any"):
        fmow.open_dataset(str(tmp_path), expect="whatever")


@pytest.mark.parametrize("place", [".", "waterbirds_v1.0", "waterbirds"])
def test_the_folder_is_found_from_itself_from_above_and_from_a_sibling(place: str, tmp_path: Path) -> None:
    folder = miniatures.waterbirds(tmp_path)
    dataset = waterbirds.open_dataset(str(tmp_path / place), expect="any")
    assert dataset.root.samefile(folder)
    assert dataset.open_image(0).size == (12, 9)


def test_a_missing_dataset_says_where_it_was_looked_for_and_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError) as missing:
        celeba.open_dataset(str(tmp_path / "celeba"))
    assert str(tmp_path / "celeba" / "celebA_v1.0") in str(missing.value)
    assert "img_align_celeba/000001.jpg" in str(missing.value)
    (miniatures.celeba(tmp_path) / "list_eval_partition.csv").unlink()
    with pytest.raises(DatasetNotFoundError, match=r"list_eval_partition\.csv is missing"):
        celeba.open_dataset(str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match="no folder is given"):
        waterbirds.open_dataset(None)


def test_a_release_file_is_not_needed(tmp_path: Path) -> None:
    (miniatures.waterbirds(tmp_path) / "RELEASE_v1.0.txt").unlink()
    assert len(waterbirds.open_dataset(str(tmp_path), expect="any").samples().files) == 20


def test_celeba_files_that_list_other_images_are_refused(tmp_path: Path) -> None:
    folder = miniatures.celeba(tmp_path)
    lines = (folder / "list_eval_partition.csv").read_text().splitlines()
    lines[2], lines[3] = lines[3], lines[2]
    (folder / "list_eval_partition.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"row 2 is 000003\.jpg, but that of list_attr_celeba\.csv is 000002\.jpg"):
        celeba.open_dataset(str(tmp_path), expect="any")


def test_fmow_has_the_official_periods_regions_and_image_numbers(tmp_path: Path) -> None:
    miniatures.fmow(tmp_path)
    dataset = fmow.open_dataset(str(tmp_path), expect="any")
    samples = dataset.samples()
    rows = list(
        zip(
            samples.files.tolist(),
            samples.split.tolist(),
            samples.labels.tolist(),
            samples.attributes.tolist(),
            strict=True,
        )
    )
    category = fmow.CATEGORIES.index
    assert rows == [
        ("images/rgb_img_0.png", "train", category("airport"), 0),
        ("images/rgb_img_1.png", "train", category("zoo"), 1),
        ("images/rgb_img_4.png", "val", category("port"), 2),
        ("images/rgb_img_5.png", "val", category("dam"), 3),
        ("images/rgb_img_7.png", "test", category("barn"), 4),
        ("images/rgb_img_8.png", "test", category("multi-unit_residential"), NO_ATTRIBUTE),
        ("images/rgb_img_11.png", "test", category("lighthouse"), 1),
    ]
    assert not dataset.missing_files().size


def test_fmow_keeps_images_whose_timestamps_have_fractions_of_a_second(tmp_path: Path) -> None:
    rows = [
        ("train", "zoo", "FRA", "2012-12-31T23:59:59.999Z"),
        ("val", "zoo", "FRA", "2015-12-31T23:59:59.999999Z"),
        ("test", "zoo", "FRA", "2016-01-01T00:00:00.5Z"),
        ("test", "zoo", "FRA", "2016-01-01T00:00:00Z"),
        ("test", "zoo", "FRA", "2015-12-31T23:59:59.123Z"),
    ]
    miniatures.fmow(tmp_path, rows, images=False)
    samples = fmow.open_dataset(str(tmp_path), expect="any").samples()
    assert samples.files.tolist() == [f"images/rgb_img_{row}.png" for row in range(4)]


def test_fmow_refuses_a_timestamp_a_category_and_a_split_it_cannot_read(tmp_path: Path) -> None:
    good = ("train", "zoo", "FRA", "2010-01-01T00:00:00Z")
    for name, row, message in [
        ("timestamp", ("train", "zoo", "FRA", "soon"), 'row 2 has the timestamp "soon"'),
        ("category", ("train", "zoos", "FRA", good[3]), 'row 2 has the category "zoos"'),
        ("split", ("validation", "zoo", "FRA", good[3]), 'row 2 has the split "validation"'),
    ]:
        miniatures.fmow(tmp_path / name, [good, row], images=False)
        with pytest.raises(DataError, match=message):
            fmow.open_dataset(str(tmp_path / name), expect="any")


def test_the_official_fmow_sizes_are_accepted(tmp_path: Path) -> None:
    test = {"JPN": 4963, "FRA": 5858, "KEN": 2593, "BRA": 8024, "AUS": 666, "XXX": 4}
    rows = [("train", "zoo", "FRA", "2010-01-01T00:00:00Z")] * 76863
    rows += [("val", "zoo", "FRA", "2014-01-01T00:00:00Z")] * 19915
    rows += [("test", "zoo", code, "2016-05-01T00:00:00.5Z") for code, size in test.items() for _ in range(size)]
    folder = miniatures.fmow(tmp_path, rows, images=False)
    samples = fmow.open_dataset(str(tmp_path)).samples()
    values, counts = np.unique(samples.attributes[samples.split == "test"], return_counts=True)
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == {
        -1: 4,
        0: 4963,
        1: 5858,
        2: 2593,
        3: 8024,
        4: 666,
    }
    with (folder / "rgb_metadata.csv").open("a", newline="") as stream:
        csv.writer(stream).writerow((0, "test", "x.jpg", "zoo", "AUS", "2016-05-01T00:00:00Z"))
    with pytest.raises(DataError, match="test attribute 4: 667 instead of 666"):
        fmow.open_dataset(str(tmp_path))


def test_an_image_that_is_gone_is_still_a_sample(tmp_path: Path) -> None:
    folder = miniatures.waterbirds(tmp_path)
    whole = waterbirds.open_dataset(str(tmp_path), expect="any").samples()
    shutil.rmtree(folder / str(whole.files[0]).partition("/")[0])
    dataset = waterbirds.open_dataset(str(tmp_path), expect="any")
    gone = [file for file in whole.files.tolist() if not (folder / file).exists()]
    assert dataset.samples().files.tolist() == whole.files.tolist()
    assert sorted(gone) == dataset.missing_files().tolist()
