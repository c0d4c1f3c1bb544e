import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.herding import herd
from tests.dat_lib.literal import herd_argmax, herd_argmin, unit

seeds = st.integers(0, 10_000)


@settings(deadline=None, max_examples=40)
@given(seed=seeds, rows=st.integers(1, 30), dim=st.integers(1, 12), data=st.data())
def test_herding_of_unit_vectors_is_the_papers_in_both_its_forms(seed, rows, dim, data):
    pool = unit(np.random.default_rng(seed).normal(size=(rows, dim + 1)))
    n = data.draw(st.integers(1, rows))
    chosen = herd(pool, n).tolist()
    assert chosen == herd_argmin(pool, n)
    assert chosen == herd_argmax(pool, n)


@settings(deadline=None, max_examples=25)
@given(seed=seeds, rows=st.integers(2, 30))
def test_rows_of_any_length_follow_the_first_form(seed, rows):
    pool = np.random.default_rng(seed).normal(size=(rows, 4)) * 3 + 1
    assert herd(pool, rows).tolist() == herd_argmin(pool, rows)


@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_float32_chooses_what_float64_chooses(seed):
    pool = unit(np.random.default_rng(seed).normal(size=(200, 96)) + 1).astype(np.float32)
    assert herd(pool, 20).tolist() == herd_argmax(pool.astype(np.float64), 20)


def test_all_rows_may_be_asked_for():
    pool = np.random.default_rng(0).normal(size=(20, 3))
    assert sorted(herd(pool, 20)) == list(range(20))


def test_equal_rows_are_taken_in_order():
    assert herd(np.ones((6, 3), np.float32), 6).tolist() == [0, 1, 2, 3, 4, 5]


@settings(deadline=None, max_examples=25)
@given(seed=seeds, copies=st.integers(2, 5))
def test_of_duplicates_the_first_comes_first(seed, copies):
    rng = np.random.default_rng(seed)
    pool = np.repeat(rng.normal(size=(7, 33)).astype(np.float32), copies, axis=0)
    order = rng.permutation(len(pool))
    kind = np.repeat(np.arange(7), copies)[order]
    chosen = herd(pool[order], len(pool))
    for one in range(7):
        mine = [i for i in chosen if kind[i] == one]
        assert mine == sorted(mine)


def test_ties_by_symmetry_go_to_the_smallest_index():
    angles = 2 * np.pi * np.arange(6) / 6
    hexagon = np.column_stack([np.cos(angles), np.sin(angles)])
    assert herd(hexagon, 2).tolist() == [0, 3]
    assert herd(np.eye(5), 5).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n", [0, -1, 4])
def test_what_the_pool_cannot_give_is_refused(n):
    with pytest.raises(ValueError, match=f"n={n} rows cannot be chosen from a pool of 3"):
        herd(np.eye(3), n)
