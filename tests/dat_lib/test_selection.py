import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.density.selection import LARGEST_NETWORK, order_statistics

COLUMNS = 32


def whole_numbers(seed, tables, rows, dtype=torch.float32, largest=30):
    """Few enough that many are equal."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(0, largest, (tables, rows, COLUMNS), generator=chance).to(dtype)


def check(values, ranks):
    untouched, ordered = values.clone(), values.sort(dim=1).values
    assert torch.equal(order_statistics(values, ranks), ordered[:, ranks].movedim(1, 0))
    assert torch.equal(values, untouched)


@settings(deadline=None, max_examples=60)
@given(rows=st.integers(2, 80), tables=st.integers(1, 5), seed=st.integers(0, 10_000), data=st.data())
def test_each_rank_of_each_column_is_found_and_what_is_given_is_only_read(rows, tables, seed, data):
    ranks = data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=5))
    check(whole_numbers(seed, tables, rows), ranks)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [2, 7, 23, 50, 64, 81])
@pytest.mark.parametrize("tables", [1, 4])
def test_the_values_found_have_the_bits_of_those_given(dtype, rows, tables):
    chance = torch.Generator().manual_seed(rows)
    values = torch.randn(tables, rows, COLUMNS, generator=chance, dtype=dtype)
    for ranks in ([0], [rows - 1], [rows // 2, rows // 2 - 1], list(range(rows))):
        check(values, ranks)


def test_long_columns_are_sorted_without_a_network(monkeypatch):
    monkeypatch.setattr("dat_lib.density.selection.selection_network", None)
    check(whole_numbers(0, 2, LARGEST_NETWORK + 50, largest=1000), [0, 119, 1, 120])


@pytest.mark.parametrize("rows", [4, LARGEST_NETWORK + 4])
def test_infinities_come_last(rows):
    column = torch.full((rows,), torch.inf)
    column[1], column[2] = 2.0, -1.0
    values = column[None, :, None].expand(1, rows, COLUMNS).contiguous()
    assert order_statistics(values, [0, 1, 2, 3])[:, 0, 0].tolist() == [-1.0, 2.0, torch.inf, torch.inf]


def test_no_tables_have_no_values():
    assert order_statistics(torch.empty(0, 9, COLUMNS), [2, 3]).shape == (2, 0, COLUMNS)
