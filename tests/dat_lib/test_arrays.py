import numpy as np
import pytest

from dat_lib.arrays import as_ids, as_indices, as_vectors, matching_ids, normalise


def test_vectors_keep_their_precision_and_are_not_copied():
    for dtype in (np.float32, np.float64):
        array = np.ones((2, 3), dtype)
        assert as_vectors(array, "pool") is array


def test_half_precision_and_integers_are_widened():
    assert as_vectors(np.ones((2, 3), np.float16), "pool").dtype == np.float32
    assert as_vectors([[1, 2]], "pool").dtype == np.float64


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(3), r"pool must have 2 axes, not the shape \(3,\)"),
        (np.ones((2, 0)), "pool has vectors of dimension 0"),
        (np.ones((2, 4)), "pool has vectors of dimension 4 where 3 is needed"),
        (np.array([["a", "b", "c"]]), "pool must hold real numbers"),
        (np.ones((1, 3), complex), "pool must hold real numbers, not complex128"),
        (np.array([[0, 0, 0], [0, np.nan, 0.0], [np.inf, 0, 0]]), "pool is not finite at positions 1, 2"),
    ],
)
def test_vectors_that_are_none_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        as_vectors(values, "pool", dim=3)


def test_the_first_few_bad_rows_are_named():
    values = np.ones((20, 2))
    values[3:] = np.nan
    with pytest.raises(ValueError, match="positions 3, 4, 5, 6, 7 and 12 more"):
        as_vectors(values, "pool")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.0, 1.0], "labels must be integers, not float64"),
        ([[0], [1]], r"labels must have 1 axis, not the shape \(2, 1\)"),
        ([0, 1, 1], "labels has 3 entries where 2 are needed"),
        ([0, 2], r"labels must lie in 0..1, but holds 2 at position 1"),
        ([-1, 0], r"labels must lie in 0..1, but holds -1 at position 0"),
    ],
)
def test_class_numbers_that_are_none_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        as_indices(values, "labels", count=2, length=2)


def test_numbers_outside_the_range_can_be_allowed():
    assert as_indices([-1, 0], "attributes", count=1, allowed=(-1,)).tolist() == [-1, 0]


def test_ids_must_be_one_a_sample():
    with pytest.raises(ValueError, match=r"sample_ids has the shape \(2,\) where \(3,\) is needed"):
        as_ids(["a", "b"], "sample_ids", length=3)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_normalising_survives_squares_beyond_float32(size):
    vectors = (np.array([[3.0, 4.0], [0.0, -2.0]]) * size).astype(np.float32)
    np.testing.assert_allclose(normalise(vectors, "pool"), [[0.6, 0.8], [0, -1]], rtol=1e-6)
    assert normalise(vectors, "pool").dtype == np.float32


def test_a_zero_vector_has_no_direction():
    with pytest.raises(ValueError, match="pool is zero, so it has no direction, at position 1"):
        normalise(np.array([[1.0, 0.0], [0.0, 0.0]]), "pool")


def test_equal_ids_are_paired_however_often_they_occur():
    rows, others = matching_ids(np.array(["b", "x", "a", "b"]), np.array(["a", "b", "c", "b"]))
    assert sorted(zip(rows.tolist(), others.tolist(), strict=True)) == [(0, 1), (0, 3), (2, 0), (3, 1), (3, 3)]
    assert len(matching_ids(np.array([1, 2]), np.array([3]))[0]) == 0
