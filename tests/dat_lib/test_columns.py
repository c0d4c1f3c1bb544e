from dataclasses import dataclass

import numpy as np
import pytest

from dat_lib.columns import columns


@dataclass(frozen=True)
class Row:
    name: str
    value: float
    holds: bool


@dataclass(frozen=True)
class Arrays:
    x: np.ndarray
    y: np.ndarray


def test_records_become_one_row_each_with_their_types():
    table = columns([Row("a", 1.5, True), Row("b", 2.0, False)])
    assert {name: array.tolist() for name, array in table.items()} == {
        "name": ["a", "b"],
        "value": [1.5, 2.0],
        "holds": [True, False],
    }
    assert table["holds"].dtype == bool


def test_arrays_are_the_columns():
    table = columns(Arrays(np.arange(3), np.array(["a", "b", "c"])))
    assert list(table) == ["x", "y"]
    assert table["y"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("second", [np.arange(2), np.zeros((3, 2)), np.float64(1)])
def test_what_makes_no_table_is_refused(second):
    with pytest.raises(ValueError, match="vectors of one length"):
        columns(Arrays(np.arange(3), second))


def test_no_rows_make_no_columns():
    with pytest.raises(ValueError, match="no rows"):
        columns([])
