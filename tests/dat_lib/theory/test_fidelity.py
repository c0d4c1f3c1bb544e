import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.columns import columns
from dat_lib.theory.fidelity import fidelity_points, fit_line, log_slof_fidelity


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 1000), count=st.integers(3, 60), slope=st.floats(-3, 3), shift=st.floats(-50, 50))
def test_the_line_is_that_of_least_squares(seed, count, slope, shift):
    rng = np.random.default_rng(seed)
    log_density = rng.normal(size=count) * 4 + shift
    log_sparsity = -slope * log_density + 1.5 + rng.normal(size=count) * 0.3
    line = fit_line(log_sparsity, log_density)
    (expected, intercept), covariance = np.polyfit(-log_density, log_sparsity, 1, cov="unscaled")
    residual = log_sparsity + expected * log_density - intercept
    assert line.slope == pytest.approx(expected, abs=1e-7)
    assert line.intercept == pytest.approx(intercept, abs=1e-5)
    assert line.residual_bound == pytest.approx(np.abs(residual).max(), abs=1e-5)
    assert line.residual_deviation == pytest.approx(np.sqrt((residual**2).mean()), abs=1e-5)
    assert line.r2 == pytest.approx(np.corrcoef(log_density, log_sparsity)[0, 1] ** 2, abs=1e-5)
    error = np.sqrt(covariance[0, 0] * (residual**2).sum() / (count - 2))
    assert line.slope_error == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize(
    ("log_sparsity", "log_density", "message"),
    [
        ([1.0, 2.0], [1.0, 2.0], "3 points or more"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], "vectors of one length"),
        ([1.0, 2.0, np.inf], [1.0, 2.0, 3.0], "must be finite"),
        ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], "the same everywhere"),
    ],
)
def test_what_no_line_goes_through_is_refused(log_sparsity, log_density, message):
    with pytest.raises(ValueError, match=message):
        fit_line(np.array(log_sparsity), np.array(log_density))


def test_every_setting_is_a_row_whose_numbers_are_those_of_its_points():
    arguments = {"each": 40, "seed": 2}
    rows = log_slof_fidelity(dims=(6, 9), ns=(20, 40), ks=(5, 30), densities=("slof", "knn"), **arguments)
    assert len(rows) == 2 * 3 * 2 * 3
    assert {(row.n, row.k) for row in rows} == {(20, 5), (40, 5), (40, 30)}
    points = fidelity_points(dim=9, n=40, k=5, density="knn", **arguments)
    own = points.group == points.query_group
    for queries, chosen in (("own", own), ("other", ~own), ("all", own | ~own)):
        (row,) = [
            row for row in rows if (row.dim, row.n, row.k, row.density, row.queries) == (9, 40, 5, "knn", queries)
        ]
        line = fit_line(points.log_sparsity[chosen], points.log_density[chosen])
        assert (row.slope, row.intercept, row.r2) == (line.slope, line.intercept, line.r2)
        assert row.signal == pytest.approx(line.slope * points.log_density[chosen].std())
        assert row.bound_over_signal == pytest.approx(line.residual_bound / row.signal)
        assert row.points == chosen.sum()
        assert row.local_slope == 1 / 8
    assert len(columns(rows)["slope"]) == len(rows)
    assert len(columns(points)["group"]) == 4 * 4 * 40


def test_a_setting_does_not_depend_on_the_others_of_its_grid():
    alone = log_slof_fidelity(dims=(6,), ns=(40,), ks=(5,), densities=("slof",), each=30)
    among = log_slof_fidelity(dims=(9, 6), ns=(20, 40), ks=(8, 5), densities=("knn", "slof"), each=30)
    assert all(row in among for row in alone)


def test_more_references_flatten_slof_and_steepen_the_distance():
    # What the references of the assumption say of k-NN distances is not so of SLOF: neighbours share the density.
    rows = log_slof_fidelity(dims=(6,), ns=(56, 2000), ks=(10,), each=250)
    slope = {(row.density, row.n): row.slope for row in rows if row.queries == "own"}
    assert slope["slof", 2000] < slope["slof", 56]
    assert slope["knn", 56] < slope["knn", 2000] < 1 / 5
