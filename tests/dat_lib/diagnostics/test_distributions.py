import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dat_lib.columns import columns
from dat_lib.diagnostics.distributions import histograms, overlap, quantiles

values = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), min_size=1, max_size=30)


@given(first=values, second=values, bins=st.integers(1, 20))
def test_series_share_their_bins_and_every_value_is_in_one(first, second, bins):
    found = histograms({"a": np.array(first), "b": np.array(second)}, bins)
    for name, array in (("a", first), ("b", second)):
        chosen = found.series == name
        low, high, share = found.low[chosen], found.high[chosen], found.share[chosen]
        assert share.sum() == pytest.approx(1)
        np.testing.assert_allclose((found.density[chosen] * (high - low)).sum(), 1)
        np.testing.assert_array_equal(low[1:], high[:-1])
        assert low[0] <= min(array)
        assert max(array) <= high[-1]
        inside = [sum(a <= value < b for value in array) for a, b in zip(low, high, strict=True)]
        inside[-1] += sum(value == high[-1] for value in array)
        np.testing.assert_allclose(share * len(array), inside, atol=1e-9)
    np.testing.assert_array_equal(found.low[found.series == "a"], found.low[found.series == "b"])


def test_equal_values_have_one_bin():
    found = histograms({"a": np.full(3, 2.0)})
    assert (found.low.tolist(), found.high.tolist(), found.share.tolist()) == ([1.5], [2.5], [1.0])


def test_quantiles_are_a_table():
    found = quantiles({"a": np.array([3.0, 1.0, 2.0]), "b": np.array([5.0])}, levels=(0.0, 0.25, 1.0))
    assert columns(found)["series"].tolist() == ["a"] * 3 + ["b"] * 3
    assert found.value.tolist() == [1.0, 1.5, 3.0, 5.0, 5.0, 5.0]
    assert found.level.tolist() == [0.0, 0.25, 1.0] * 2


@given(first=values, second=values)
def test_overlap_is_one_minus_the_largest_difference_of_cumulative_shares(first, second):
    apart = max(
        abs(np.mean([value <= point for value in first]) - np.mean([value <= point for value in second]))
        for point in first + second
    )
    assert overlap(np.array(first), np.array(second)) == pytest.approx(1 - apart)


def test_overlap_of_the_same_and_of_separate_values():
    assert overlap(np.array([1.0, 2.0]), np.array([2.0, 1.0])) == 1
    assert overlap(np.array([1.0, 2.0]), np.array([3.0])) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: histograms({}), "no series"),
        (lambda: histograms({"a": np.array([])}), "a must be a vector with values"),
        (lambda: histograms({"a": np.array([1.0, np.nan])}), "a is not finite"),
        (lambda: histograms({"a": np.array([1.0])}, bins=0), "bins must be 1 or more"),
        (lambda: histograms({"a": np.array([1.0, np.nextafter(1.0, 2)])}), "narrower than numbers"),
        (lambda: quantiles({"a": np.array([1.0])}, levels=(1.5,)), "levels must lie in"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
