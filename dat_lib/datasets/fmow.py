"""FMoW (Christie et al. 2018) in the folder of WILDS v1.1: land use from space, with the region as the attribute.

The metadata files are read directly. The WILDS class cannot read them with today's pandas: a few thousand timestamps
have fractions of a second, on which it stops, or which it loses from the splits when told to go on. Importing it also
lifts Pillow's limit on image sizes for the whole process. A test holds both against each other where it can read.

The splits are the official ones (`time_after_2016`): train is before 2013, val is the out-of-distribution validation
split (2013 to 2015) and test the out-of-distribution test split (2016 and later). The in-distribution validation and
test splits are not used.
"""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from dat_lib.arrays import NO_ATTRIBUTE
from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.files.locating import locate
from dat_lib.datasets.files.table_columns import at_row, read_columns, values_of
from dat_lib.datasets.files.wilds_package import wilds_archive
from dat_lib.datasets.images import ImageSamples
from dat_lib.datasets.official_counts import Expect, Group, check_counts
from dat_lib.datasets.registry import DatasetKind, Download
from dat_lib.datasets.source import DataError

FOLDER = "fmow_v1.1"
LAYOUT = """\
  fmow_v1.1/rgb_metadata.csv             columns split, category, country_code, timestamp and others
  fmow_v1.1/country_code_mapping.csv     columns alpha-3, region and others
  fmow_v1.1/images/rgb_img_0.png and so on: the number is the row of rgb_metadata.csv, from 0"""
KIND = DatasetKind(
    "fmow",
    gives="image files",
    download=Download(partial(wilds_archive, "fmow_dataset", "FMoWDataset", FOLDER), FOLDER, LAYOUT),
)

REGIONS = ("Asia", "Europe", "Africa", "Americas", "Oceania")
"""In the order of WILDS, that of their first appearance; what it calls "Other" is `NO_ATTRIBUTE`."""

CATEGORIES = tuple(
    """
    airport airport_hangar airport_terminal amusement_park aquaculture archaeological_site barn border_checkpoint
    burial_site car_dealership construction_site crop_field dam debris_or_rubble educational_institution
    electric_substation factory_or_powerplant fire_station flooded_road fountain gas_station golf_course
    ground_transportation_station helipad hospital impoverished_settlement interchange lake_or_pond lighthouse
    military_facility multi-unit_residential nuclear_powerplant office_building oil_or_gas_facility park
    parking_lot_or_garage place_of_worship police_station port prison race_track railway_bridge recreational_facility
    road_bridge runway shipyard shopping_mall single-unit_residential smokestack solar_farm space_facility stadium
    storage_tank surface_mine swimming_pool toll_booth tower tunnel_opening waste_disposal water_treatment_facility
    wind_farm zoo
    """.split()  # noqa: SIM905
)
"""The 62 classes as the metadata spells them, in the order of WILDS."""

_METADATA = "rgb_metadata.csv"
_COUNTRIES = "country_code_mapping.csv"
_VAL_FROM = datetime(2013, 1, 1, tzinfo=UTC)
_TEST_FROM = datetime(2016, 1, 1, tzinfo=UTC)
_SEQUESTERED = "seq"

_OFFICIAL: dict[Group, int] = {
    ("train", None, None): 76863,
    ("val", None, None): 19915,
    ("test", None, None): 22108,
    ("test", None, 0): 4963,
    ("test", None, 1): 5858,
    ("test", None, 2): 2593,
    ("test", None, 3): 8024,
    ("test", None, 4): 666,
    ("test", None, NO_ATTRIBUTE): 4,
}
_ADVICE = (
    "Either file is not the published one, or has lost rows. Use the folder of WILDS fmow v1.1, or set "
    'expect = "any" to accept what is there.'
)


def open_dataset(root: str | None, *, expect: Expect = "official") -> ImageFiles:
    """Open the folder. Classes: `CATEGORIES`; attributes: `REGIONS`, and `NO_ATTRIBUTE` for all other places."""
    folder = locate(root, FOLDER, [_METADATA, _COUNTRIES], LAYOUT)
    samples = _samples(folder)
    check_counts(samples, _OFFICIAL, expect, folder / _METADATA, _ADVICE)
    return ImageFiles(folder, samples, (_METADATA, _COUNTRIES))


def _samples(folder: Path) -> ImageSamples:
    path = folder / _METADATA
    columns = read_columns(path, ["split", "category", "country_code", "timestamp"])
    labels = values_of(columns["category"], {name: i for i, name in enumerate(CATEGORIES)}, "category", path)
    attributes = _attributes(folder, columns["country_code"])
    splits = [
        _split(path, row, part, timestamp)
        for row, (part, timestamp) in enumerate(zip(columns["split"], columns["timestamp"], strict=True), start=1)
    ]
    # An image is numbered by its row among all, also those that belong to no split.
    used = [row for row, split in enumerate(splits) if split is not None]
    files = np.array([f"images/rgb_img_{row}.png" for row in used], dtype=np.str_)
    return ImageSamples(
        sample_ids=files,
        split=np.array([splits[row] for row in used], dtype=np.str_),
        labels=np.array(labels)[used],
        attributes=np.array(attributes)[used],
        files=files,
    )


def _split(path: Path, row: int, part: str, timestamp: str) -> str | None:
    """Return the official split of a row, None for what belongs to none that is used here."""
    if part == _SEQUESTERED:
        return None
    if part not in ("train", "val", "test"):
        raise DataError(f'{at_row(path, row)} has the split "{part}"; known are: train, val, test, {_SEQUESTERED}')
    try:
        taken = datetime.fromisoformat(timestamp)
    except ValueError:
        raise DataError(f'{at_row(path, row)} has the timestamp "{timestamp}", which is not ISO 8601') from None
    if taken.tzinfo is None:
        taken = taken.replace(tzinfo=UTC)
    period = "train" if taken < _VAL_FROM else "val" if taken < _TEST_FROM else "test"
    return part if part == period else None


def _attributes(folder: Path, countries: list[str]) -> list[int]:
    mapping = read_columns(folder / _COUNTRIES, ["alpha-3", "region"])
    numbers = {region: number for number, region in enumerate(REGIONS)}
    region_of = dict(zip(mapping["alpha-3"], mapping["region"], strict=True))
    return [numbers.get(region_of.get(country, ""), NO_ATTRIBUTE) for country in countries]
