import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_catalog.store.content import ContentDigest, content_digest


def example(rows: int = 7) -> pa.Table:
    vectors = np.arange(rows * 3, dtype=np.float32)
    return pa.table(
        {
            "sample_id": [f"é{row}" for row in range(rows)],
            "label": pa.array([None if row == 2 else row for row in range(rows)], pa.int32()),
            "right": pa.array([row % 2 == 0 for row in range(rows)]),
            "margin": pa.array([None if row == 4 else row / 3 for row in range(rows)], pa.float64()),
            "embedding": pa.FixedSizeListArray.from_arrays(pa.array(vectors), 3),
            "words": pa.array([["a"] * row for row in range(rows)], pa.list_(pa.string())),
        }
    )


@given(st.lists(st.integers(1, 4), max_size=6))
def test_the_cuts_between_batches_do_not_matter(cuts: list[int]) -> None:
    table = example()
    digest = ContentDigest(table.schema)
    start = 0
    for cut in [*cuts, table.num_rows]:
        for batch in table.slice(start, cut).to_batches():
            digest.update(batch)
        start += cut
    assert digest.hexdigest() == content_digest(table)


def test_a_round_trip_through_any_parquet_encoding_keeps_it(tmp_path) -> None:
    table = example()
    for number, options in enumerate([{"compression": "none"}, {"use_dictionary": False}, {"row_group_size": 2}]):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path, **options)
        assert content_digest(pq.read_table(path)) == content_digest(table)


def test_bytes_hidden_under_nulls_do_not_matter() -> None:
    seen = pa.array([1, 2, 3], pa.int64(), mask=np.array([False, True, False]))
    other = pa.array([1, 99, 3], pa.int64(), mask=np.array([False, True, False]))
    assert content_digest(pa.table({"x": seen})) == content_digest(pa.table({"x": other}))


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"x": ["a", "bc"]}),
        pa.table({"x": ["ab", ""]}),
        pa.table({"y": ["ab", "c"]}),
        pa.table({"x": ["ab", None]}),
        pa.table({"x": ["c", "ab"]}),
        pa.table({"x": ["ab", "c", ""]}),
        pa.table({"x": pa.array(["ab", "c"], pa.large_string())}),
    ],
)
def test_other_values_names_types_or_orders_have_another_digest(other: pa.Table) -> None:
    assert content_digest(other) != content_digest(pa.table({"x": ["ab", "c"]}))


def test_one_bit_of_one_vector_is_noticed() -> None:
    values = np.ones(6, dtype=np.float32)
    changed = values.copy()
    changed.view(np.uint32)[5] ^= 1
    tables = [
        pa.table({"embedding": pa.FixedSizeListArray.from_arrays(pa.array(flat), 3)}) for flat in (values, changed)
    ]
    assert content_digest(tables[0]) != content_digest(tables[1])


def test_a_type_without_a_digest_is_an_error() -> None:
    with pytest.raises(TypeError, match="timestamp"):
        content_digest(pa.table({"t": pa.array([0], pa.timestamp("s"))}))
