import math

import pyarrow as pa
import pytest

from tasks.engine.drift import drift_between

TABLE = pa.table({"name": ["a", "b"], "value": [1.0, 2.0], "vector": [[0.0, 1.0], [2.0, 3.0]]})


def changed(**columns: list) -> pa.Table:
    return pa.table({**TABLE.to_pydict(), **columns})


@pytest.mark.parametrize(
    ("fresh", "expected"),
    [
        (TABLE, 0.0),
        (changed(value=[1.0, 2.5]), 0.5),
        (changed(value=[1.0, 1.0], vector=[[0.0, 1.0], [2.0, -4.0]]), 7.0),
        (changed(value=[1.0, math.nan]), math.inf),
        (changed(value=[1.0, None]), math.inf),
        (changed(name=["a", "c"]), None),
        (TABLE.slice(0, 1), None),
        (TABLE.drop_columns(["value"]), None),
        (changed(vector=[[0.0, 1.0, 2.0], [3.0]]), None),
        (changed(vector=[[0.0, 1.0], [2.0]]), None),
    ],
)
def test_the_largest_difference_of_a_number_in_the_same_place(fresh: pa.Table, expected: float | None) -> None:
    assert drift_between(TABLE, fresh) == expected


def test_numbers_that_are_missing_in_both_do_not_differ() -> None:
    table = pa.table({"value": [math.nan, 1.0]})
    assert drift_between(table, pa.table({"value": [math.nan, 1.25]})) == 0.25
