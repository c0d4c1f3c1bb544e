import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.selection import LARGEST_NETWORK, order_statistics, selection_network, sorting_network


def scratch_for(values):
    return torch.empty(len(values) + 1, values.shape[1], dtype=values.dtype)


@settings(deadline=None, max_examples=60)
@given(rows=st.integers(1, 80), seed=st.integers(0, 10_000), data=st.data())
def test_order_statistics_are_those_of_sorted_columns(rows, seed, data):
    values = torch.randint(0, 30, (rows, 17), generator=torch.Generator().manual_seed(seed)).float()
    ranks = data.draw(st.lists(st.integers(0, rows - 1), min_size=1, unique=True))
    untouched = values.clone()
    found = order_statistics(values, ranks, scratch_for(values))
    expected = values.sort(dim=0).values
    assert torch.equal(found, expected[ranks])
    assert torch.equal(values, untouched)


def test_long_columns_are_sorted_without_a_network():
    values = torch.rand(LARGEST_NETWORK + 50, 9)
    found = order_statistics(values, [0, 120], scratch_for(values))
    assert torch.equal(found, values.sort(dim=0).values[[0, 120]])


def test_infinities_sort_last():
    values = torch.tensor([[torch.inf, 1.0], [2.0, torch.inf], [1.0, 3.0]])
    found = order_statistics(values, [1, 2], scratch_for(values))
    assert found.tolist() == [[2.0, 3.0], [torch.inf, torch.inf]]


@pytest.mark.parametrize("rows", range(1, 11))
def test_a_network_sorts_every_sequence_of_zeros_and_ones(rows):
    # By the zero-one principle it then sorts everything.
    for bits in range(2**rows):
        values = [bits >> i & 1 for i in range(rows)]
        for low, high in sorting_network(rows):
            values[low], values[high] = min(values[low], values[high]), max(values[low], values[high])
        assert values == sorted(values)


def test_a_selection_leaves_out_what_no_wanted_rank_depends_on():
    whole = selection_network(50, tuple(range(50)))
    some = selection_network(50, (29, 30))
    operations = [sum(c.want_smaller + c.want_larger for c in network) for network in (whole, some)]
    assert len(some) < len(whole) == len(sorting_network(50))
    assert operations[1] < 0.8 * operations[0]
