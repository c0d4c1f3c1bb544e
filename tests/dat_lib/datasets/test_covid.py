from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dat_lib.datasets import covid
from dat_lib.datasets.images import ImageSamples, UnreadableImage, overlap
from dat_lib.datasets.source import SPLITS, DataError
from tests.dat_lib.datasets import miniatures

REAL = Path(__file__).parents[4] / "shared" / "data" / "covid-chestxray-small"
real = pytest.mark.skipif(not REAL.is_dir(), reason=f"the real metadata is not here ({REAL})")

HELD_OUT = {
    ("val", 1, 1): 46,
    ("val", 1, 0): 24,
    ("val", 0, 1): 27,
    ("val", 0, 0): 19,
    ("test", 1, 1): 58,
    ("test", 1, 0): 29,
    ("test", 0, 1): 34,
    ("test", 0, 0): 24,
}
CLEAN = {("train", 1, 1): 183, ("train", 1, 0): 92, ("train", 0, 1): 107, ("train", 0, 0): 76, **HELD_OUT}
TIE = {("train", 1, 1): 211, ("train", 1, 0): 69, ("train", 0, 1): 92, ("train", 0, 0): 43, **HELD_OUT}


def groups(samples: ImageSamples) -> Counter[tuple[str, int, int]]:
    return Counter(zip(samples.split.tolist(), samples.labels.tolist(), samples.attributes.tolist(), strict=True))


@pytest.fixture(params=["miniature", pytest.param("real", marks=real)])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The repository's metadata, or one with the same group sizes."""
    if request.param == "real":
        return str(REAL)
    miniatures.covid(tmp_path)
    return str(tmp_path)


@pytest.mark.parametrize(("split", "expected"), [("clean", CLEAN), ("tie", TIE)])
def test_the_groups_have_the_published_sizes(root: str, split: covid.Split, expected: dict[object, int]) -> None:
    assert groups(covid.open_dataset(root, split=split).samples()) == expected


def test_clean_is_the_default_and_no_test_image_is_a_reference(root: str) -> None:
    samples = covid.open_dataset(root).samples()
    assert len(set(samples.sample_ids.tolist())) == len(samples.sample_ids) == 719
    assert not overlap(samples, "train").any()
    assert not overlap(samples, "val").any()


def test_in_the_leaky_split_every_test_image_is_a_reference_under_the_same_id(root: str) -> None:
    samples = covid.open_dataset(root, split="tie").samples()
    assert overlap(samples, "train").sum() == (samples.split == "test").sum() == 145
    assert not overlap(samples, "val").any()
    women_without = (samples.labels == 0) & (samples.attributes == 0)
    chosen = {split: set(samples.sample_ids[women_without & (samples.split == split)].tolist()) for split in SPLITS}
    assert chosen["train"] == chosen["val"] | chosen["test"]
    for split in SPLITS:
        ids = samples.sample_ids[samples.split == split]
        assert len(set(ids.tolist())) == len(ids)


def test_val_and_test_are_the_same_images_in_both_splits(root: str) -> None:
    clean, tie = (covid.open_dataset(root, split=split).samples() for split in ("clean", "tie"))
    for split in ("val", "test"):
        assert clean.files[clean.split == split].tolist() == tie.files[tie.split == split].tolist()


def test_groups_are_cut_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Literally: of the frontal images of a group, in the file's order, those before the first cut are train."""
    import csv

    with (miniatures.covid(tmp_path) / "metadata.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    samples = covid.open_dataset(str(tmp_path)).samples()
    men = [
        f"images/{row['filename']}"
        for row in rows
        if row["view"] in ("AP", "AP Erect", "PA", "AP Supine")
        and row["sex"] == "M"
        and row["finding"] == "Pneumonia/Viral/COVID-19"
    ]
    chosen = (samples.labels == 1) & (samples.attributes == 1)
    for split, part in (("train", men[:183]), ("val", men[183:229]), ("test", men[229:])):
        assert samples.files[chosen & (samples.split == split)].tolist() == part


def test_metadata_of_another_size_is_refused_unless_expected(tmp_path: Path) -> None:
    miniatures.covid(tmp_path, {**miniatures.COVID_GROUPS, (0, 0): 120})
    with pytest.raises(DataError, match="test class 0 attribute 0: 25 instead of 24"):
        covid.open_dataset(str(tmp_path))
    assert len(covid.open_dataset(str(tmp_path), expect="any").samples().labels) == 720
    with pytest.raises(ValueError, match="split must be one of clean, tie"):
        covid.open_dataset(str(tmp_path), split="leaky")  # type: ignore[arg-type]


@real
def test_images_missing_from_the_real_copy_are_listed_and_refused_and_stay_samples() -> None:
    dataset = covid.open_dataset(str(REAL))
    missing = dataset.missing_files().tolist()
    assert len(missing) == 12
    files = dataset.samples().files
    test = set(files[dataset.samples().split == "test"].tolist())
    assert test & set(missing) == {"images/242a639e.jpg", "images/covid-19-caso-86-RX-Torace-2.jpg"}
    with pytest.raises(UnreadableImage, match=r"images/242a639e\.jpg: there is no such file"):
        dataset.open_image(int(np.flatnonzero(files == "images/242a639e.jpg")[0]))


@real
def test_real_images_of_every_mode_can_be_opened() -> None:
    dataset = covid.open_dataset(str(REAL))
    missing = set(dataset.missing_files().tolist())
    present = [row for row, file in enumerate(dataset.samples().files.tolist()) if file not in missing]
    images = [dataset.open_image(row) for row in present[::3]]
    assert {image.mode for image in images} >= {"RGB", "L", "RGBA"}
    assert all(max(image.size) <= 256 for image in images)
