import pytest
import torch

from dat_lib.density.products import COLUMNS, multiply, round_up


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dim", [3, 65, 257, 513, 769, 1025])
@pytest.mark.parametrize("rows", [1, 17, 224])
def test_a_column_has_the_same_bits_whatever_columns_come_with_it(dtype, dim, rows, torch_threads) -> None:
    """Bare products differ from 257 dimensions on, on processors with AVX-512."""
    chance = torch.Generator().manual_seed(dim)
    left, right = (torch.randn(count, dim, dtype=dtype, generator=chance) for count in (rows, 5 * COLUMNS))
    torch_threads(2)
    whole = multiply(left, right, out=torch.empty(rows, len(right), dtype=dtype))
    torch.testing.assert_close(whole, left @ right.T, rtol=1e-4, atol=1e-4)
    for threads, start, count in ((1, 0, 1), (2, 3, 1), (2, 1, 3), (3, 2, 2)):
        torch_threads(threads)
        columns = slice(start * COLUMNS, (start + count) * COLUMNS)
        # Written into the middle of something larger, as a tile does.
        out = torch.empty(rows, len(right) + 24, dtype=dtype)[:, 24 : 24 + count * COLUMNS]
        assert torch.equal(multiply(left, right[columns], out=out), whole[:, columns])
        assert torch.get_num_threads() == threads


@pytest.mark.parametrize(("count", "expected"), [(0, 0), (1, COLUMNS), (COLUMNS, COLUMNS), (COLUMNS + 1, 2 * COLUMNS)])
def test_counts_are_rounded_up(count, expected) -> None:
    assert round_up(count) == expected
