import pytest

from dat_lib.density.networks import selection_network, sorting_network


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
