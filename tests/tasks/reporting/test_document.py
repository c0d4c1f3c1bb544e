"""Which values of a table are best and second best, and how values are written."""

from collections.abc import Sequence
from typing import Any

import pytest

from tasks.reporting.document import Column, Kind, Table, spelled


def places(values: Sequence[float | None], best: str = "highest", kind: Kind = "percent") -> dict[int, int]:
    """The place of each row by its value."""
    column = Column("value", "Value", kind, best)  # type: ignore[arg-type]
    table = Table("t", "T", "", [column], [{"value": value} for value in values])
    return {row: place for (row, _), place in table.places.items()}


def test_the_best_and_the_second_best_have_places_and_the_others_none() -> None:
    assert places([70.0, 90.0, 80.0, None, 60.0]) == {1: 1, 2: 2}
    assert places([70.0, 90.0, 80.0, None, 60.0], "lowest") == {4: 1, 0: 2}


def test_values_that_tie_share_a_place() -> None:
    assert places([90.0, 80.0, 90.0, 80.0, 70.0]) == {0: 1, 2: 1, 1: 2, 3: 2}


def test_values_that_print_the_same_are_the_same() -> None:
    assert places([90.001, 89.999, 80.0]) == {0: 1, 1: 1, 2: 2}
    assert places([90.01, 89.99, 80.0]) == {0: 1, 1: 2}
    assert places([0.001, 0.002], "lowest", "number") == {0: 1, 1: 2}, "of other numbers more digits are shown"


def test_where_nothing_is_better_nothing_is_best() -> None:
    assert places([90.0]) == places([90.0, 90.0]) == places([None, 90.0]) == {}


def test_places_are_given_inside_each_part_of_a_table() -> None:
    rows: list[dict[str, Any]] = [
        {"part": part, "wg": wg} for part, wg in (("a", 1.0), ("b", 9.0), ("a", 2.0), ("b", 8.0))
    ]
    table = Table("t", "T", "", [Column("wg", "WG", "percent", "highest")], rows, within=("part",))
    assert table.places == {(2, "wg"): 1, (0, "wg"): 2, (1, "wg"): 1, (3, "wg"): 2}


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "percent", "–"),
        (0.0, "percent", "0.00"),
        (83.325, "percent", "83.33"),
        (-1.5, "points", "−1.50"),
        (1.5, "points", "+1.50"),
        (12345, "count", "12,345"),
        (0.00012345, "number", "0.0001234"),
        (12345.6, "number", "12,346"),
        (0.125, "share", "12.5 %"),
        (999, "bytes", "999 B"),
        (1_500_000, "bytes", "1.5 MB"),
        (False, "yes", "no"),
    ],
)
def test_values_are_written_as_people_read_them(value: Any, kind: Kind, text: str) -> None:
    assert spelled(value, kind) == text
