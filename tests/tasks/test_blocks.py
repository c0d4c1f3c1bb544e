"""Vectors by blocks are those of the rows, however the table is cut and wherever it lies."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_catalog.home import Home
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest
from data_catalog.store.stored_table import StoredTable
from tasks.tables import blocks
from tasks.tables.blocks import vector_blocks, vectors_at, vectors_where
from tasks.tables.columns import vector_column

Keep = Callable[[Sequence[pa.Table]], StoredTable]


def table_of(vectors: np.ndarray, cuts: list[int]) -> pa.Table:
    """A table of several chunks; names of samples beside the vectors."""
    parts = np.split(np.arange(len(vectors)), sorted(cuts))
    return pa.concat_tables(
        pa.table({"sample_id": [f"s{row}" for row in rows], "embedding": vector_column(vectors[rows])})
        for rows in parts
        if len(rows)
    )


@settings(deadline=None)
@given(st.integers(1, 40), st.lists(st.integers(0, 40), max_size=4), st.integers(1, 50), st.integers(0, 2**20))
def test_blocks_have_one_size_and_hold_the_chosen_rows_in_order(rows, cuts, at_most, seed) -> None:
    chance = np.random.default_rng(seed)
    vectors = chance.normal(size=(rows, 3)).astype(np.float32)
    chosen = chance.random(rows) < chance.random()
    found = list(vector_blocks(table_of(vectors, cuts), chosen, rows=at_most))
    full, rest = divmod(int(chosen.sum()), at_most)
    assert [len(block) for block in found] == [at_most] * full + [rest] * (rest > 0)
    np.testing.assert_array_equal(np.concatenate([*found, np.empty((0, 3), np.float32)]), vectors[chosen])


@pytest.mark.parametrize("rows", [3, 5])
def test_a_table_of_another_length_is_refused(rows) -> None:
    table = table_of(np.ones((4, 2), np.float32), [])
    with pytest.raises(ValueError, match=f"the table has 4 rows where there should be {rows}"):
        list(vector_blocks(table, np.ones(rows, dtype=bool)))


@pytest.fixture
def keep(home: Home) -> Keep:
    """Put tables into a store, one a shard, and leave them there."""
    home.prepare()
    store = Store(home)

    def kept(shards: Sequence[pa.Table]) -> StoredTable:
        with store.computing("key") as staging:
            for number, table in enumerate(shards):
                store.keep_shard(staging, number, table)
            files = store.add_shards("image_embeddings", staging)
        rows = sum(file.rows for file in files)
        empty: dict[str, object] = {name: {} for name in ("address", "code", "params", "facts", "parents")}
        manifest = Manifest(
            key="key", step="image_embeddings", cell="c", content="", rows=rows, files=files, created="", **empty
        )
        return StoredTable(store, manifest)

    return kept


def test_a_table_in_files_gives_the_same_columns_and_blocks(keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 5)
    vectors = np.random.default_rng(0).normal(size=(23, 4)).astype(np.float32)
    table = table_of(vectors, [])
    stored = keep([table.slice(0, 10), table.slice(10, 1), table.slice(11)])
    assert stored.num_rows == 23
    assert stored.column("sample_id").equals(table.column("sample_id"))
    chosen = np.arange(23) % 3 > 0
    for one in (table, stored):
        parts = list(vector_blocks(one, chosen))
        assert [len(part) for part in parts] == [5, 5, 5]
        np.testing.assert_array_equal(np.concatenate(parts), vectors[chosen])
        np.testing.assert_array_equal(vectors_where(one, chosen), vectors[chosen])
        rows = np.array([20, 3, 3, 0])
        np.testing.assert_array_equal(vectors_at(one, rows), vectors[rows])
        assert vectors_at(one, rows[:0]).shape == (0, 4)


def test_blocks_can_be_written_to() -> None:
    """Torch minds memory that cannot."""
    vectors = np.ones((4, 2), np.float32)
    assert next(vector_blocks(table_of(vectors, []), np.ones(4, dtype=bool))).flags.writeable


def test_no_more_than_some_rows_are_read_at_once(keep: Keep) -> None:
    """Although they lie in one row group, which is what Parquet readers take by themselves."""
    stored = keep([table_of(np.zeros((1000, 2), np.float32), [])])
    assert [batch.num_rows for batch in stored.to_batches(max_chunksize=300)] == [300, 300, 300, 100]
