"""The loaders read the files directly; the classes of the WILDS package say the same of the same folders."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dat_lib.arrays import NO_ATTRIBUTE
from dat_lib.backbones.torchvision_import import import_torchvision
from dat_lib.datasets import celeba, fmow, waterbirds
from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.registry import DATASETS
from tests.dat_lib.datasets import miniatures

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")]


@pytest.fixture(scope="module", autouse=True)
def _importable() -> None:
    sys.modules.setdefault("outdated", None)  # type: ignore[arg-type]
    import_torchvision()


def wilds_module(name: str) -> ModuleType:
    return importlib.import_module(f"wilds.datasets.{name}_dataset")


def assert_same(dataset: ImageFiles, other: Any, field: str) -> None:
    """Splits of both, and within each the labels, attributes and pixels, in the same order."""
    samples = dataset.samples()
    assert len(samples.labels) > 5
    for split in ("train", "val", "test"):
        rows = np.flatnonzero(samples.split == split)
        subset = other.get_subset(split)
        assert samples.labels[rows].tolist() == subset.y_array.tolist()
        column = other.metadata_fields.index(field)
        assert samples.attributes[rows].tolist() == subset.metadata_array[:, column].tolist()
        for row, (image, _, _) in zip(rows, subset, strict=True):
            assert dataset.open_image(row).convert("RGB").tobytes() == image.tobytes()


def test_waterbirds(tmp_path: Path) -> None:
    miniatures.waterbirds(tmp_path)
    other = wilds_module("waterbirds").WaterbirdsDataset(root_dir=tmp_path)
    assert_same(waterbirds.open_dataset(str(tmp_path), expect="any"), other, "background")


def test_celeba(tmp_path: Path) -> None:
    miniatures.celeba(tmp_path)
    other = wilds_module("celebA").CelebADataset(root_dir=tmp_path)
    assert_same(celeba.open_dataset(str(tmp_path), expect="any"), other, "male")


def test_fmow_where_wilds_can_read_the_timestamps(tmp_path: Path) -> None:
    miniatures.fmow(tmp_path)
    module = wilds_module("fmow")
    other = module.FMoWDataset(root_dir=tmp_path)
    assert tuple(module.categories) == fmow.CATEGORIES
    # The miniature's regions first appear in the order of the real ones.
    assert other.metadata_map["region"] == [*fmow.REGIONS, "Other"]
    regions = other._metadata_array[:, other.metadata_fields.index("region")]
    regions[regions == len(fmow.REGIONS)] = NO_ATTRIBUTE
    assert_same(fmow.open_dataset(str(tmp_path), expect="any"), other, "region")


def test_fmow_with_fractions_of_a_second_as_wilds_means_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(*row[:3], row[3].replace("Z", ".25Z") if i % 2 else row[3]) for i, row in enumerate(miniatures.FMOW_ROWS)]
    miniatures.fmow(tmp_path, rows)
    module = wilds_module("fmow")
    plain = module.pd.to_datetime
    with pytest.raises(ValueError, match="format"):
        module.FMoWDataset(root_dir=tmp_path)
    monkeypatch.setattr(module.pd, "to_datetime", lambda column: plain(column, format="ISO8601"))
    other = module.FMoWDataset(root_dir=tmp_path)
    ours = fmow.open_dataset(str(tmp_path), expect="any").samples()
    theirs = {
        f"images/rgb_img_{other.full_idxs[index]}.png": split
        for split in ("train", "val", "test")
        for index in other.get_subset(split).indices
    }
    assert dict(zip(ours.files.tolist(), ours.split.tolist(), strict=True)) == theirs


@pytest.mark.parametrize(
    ("kind", "folder"), [("waterbirds", "waterbirds_v1.0"), ("celeba", "celebA_v1.0"), ("fmow", "fmow_v1.1")]
)
def test_the_addresses_are_those_of_the_package(kind: str, folder: str) -> None:
    download = DATASETS.kind(kind).download
    assert download is not None
    archive = download.archive()
    assert archive.url.startswith("https://worksheets.codalab.org/rest/bundles/0x")
    assert archive.file_name == f"{folder}.tar.gz"
