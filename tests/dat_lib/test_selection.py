import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.density.compiled_selection import CompiledSelection, can_compile
from dat_lib.density.selection import LARGEST_NETWORK, RowSelection

COLUMNS = 32
"""Two vectors of float32, four of float64."""


def whole_numbers(seed, tables, rows, dtype=torch.float32, largest=30):
    """Few enough that many are equal."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(0, largest, (tables, rows, COLUMNS), generator=chance).to(dtype)


def check(found, values, ks, weights):
    ordered = values.sort(dim=1).values
    for which, k in enumerate(ks):
        assert torch.equal(found.kth[which], ordered[:, k - 1])
        assert torch.equal(found.following[which], ordered[:, k])
        if weights is None:
            assert found.weight is None
        else:
            near = values <= ordered[:, k - 1 : k]
            torch.testing.assert_close(found.weight[which], (near * weights[:, which, :, None]).sum(dim=1))


@settings(deadline=None, max_examples=60)
@given(rows=st.integers(2, 80), tables=st.integers(1, 5), seed=st.integers(0, 10_000), data=st.data())
def test_rows_give_the_smallest_of_each_column(rows, tables, seed, data):
    ks = data.draw(st.lists(st.integers(1, rows - 1), min_size=1, max_size=4))
    values = whole_numbers(seed, tables, rows)
    weights = torch.rand(tables, len(ks), rows) if data.draw(st.booleans()) else None
    untouched = values.clone()
    check(RowSelection(ks)(values, weights), values, ks, weights)
    assert torch.equal(values, untouched)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("rows", "ks"), [(2, [1]), (7, [1, 6]), (23, [5]), (50, [30]), (64, [63, 2, 2]), (81, [80])])
@pytest.mark.parametrize("tables", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_code_gives_the_smallest_of_each_column_with_the_bits_of_rows(dtype, rows, ks, tables, weighted):
    chance = torch.Generator().manual_seed(rows)
    compiled = CompiledSelection(rows, ks, dtype, weighted=weighted)
    weights = torch.randn(tables, len(ks), rows, generator=chance, dtype=dtype) if weighted else None
    for values in (
        whole_numbers(rows, tables, rows, dtype),
        torch.randn(tables, rows, COLUMNS, generator=chance, dtype=dtype),
    ):
        found, expected = compiled(values, weights), RowSelection(ks)(values, weights)
        check(found, values, ks, weights)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours is theirs is None or torch.equal(ours, theirs)


@pytest.mark.parametrize("weighted", [False, True])
def test_long_columns_are_sorted_without_a_network(weighted):
    values = whole_numbers(0, 2, LARGEST_NETWORK + 50, largest=1000)
    weights = torch.rand(2, 2, LARGEST_NETWORK + 50) if weighted else None
    check(RowSelection([1, 120])(values, weights), values, [1, 120], weights)


def select_by(kind, rows, ks):
    return RowSelection(ks) if kind == "rows" else CompiledSelection(rows, ks, torch.float32, weighted=True)


@pytest.mark.parametrize("kind", ["rows", "compiled"])
def test_infinities_come_last_and_weigh_nothing(kind):
    column = torch.tensor([torch.inf, 2.0, -1.0, torch.inf])
    values = column[None, :, None].expand(1, 4, COLUMNS).contiguous()
    found = select_by(kind, 4, [1, 2])(values, torch.tensor([[[1e12, 3.0, 5.0, 1e12]] * 2]))
    assert found.kth[:, 0, 0].tolist() == [-1.0, 2.0]
    assert found.following[:, 0, 0].tolist() == [2.0, torch.inf]
    assert found.weight[:, 0, 0].tolist() == [5.0, 8.0]


@pytest.mark.parametrize("kind", ["rows", "compiled"])
def test_tables_of_any_number_one_after_the_other(kind):
    select = select_by(kind, 9, [3])
    for tables in (2, 7, 1, 0):
        values, weights = whole_numbers(tables, tables, 9), torch.rand(tables, 1, 9)
        check(select(values, weights), values, [3], weights)


def test_compiled_code_refuses_what_it_would_read_wrongly():
    compiled = CompiledSelection(9, [3], torch.float32, weighted=True)
    values, weights = whole_numbers(0, 2, 9), torch.rand(2, 1, 9)
    for wrong in (
        (values[:, :8].contiguous(), weights),
        (values[..., :31].contiguous(), weights),
        (values.double(), weights),
        (values.mT.contiguous().mT, weights),
        (values, weights.double()),
        (values, weights[:1]),
        (values, None),
    ):
        with pytest.raises(ValueError, match=r"is needed|not as agreed"):
            compiled(*wrong)


def test_where_programs_may_not_compile_it_is_told(monkeypatch):
    import llvmlite.binding

    def refuse():
        raise OSError("not here")

    assert can_compile()
    monkeypatch.setattr(llvmlite.binding, "check_jit_execution", refuse)
    can_compile.cache_clear()
    try:
        assert not can_compile()
    finally:
        can_compile.cache_clear()
