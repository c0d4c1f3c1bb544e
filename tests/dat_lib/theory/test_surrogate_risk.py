import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.columns import columns
from dat_lib.theory.groups import kent_groups
from dat_lib.theory.margin import measure
from dat_lib.theory.surrogate_risk import (
    hinge,
    log_sphere_area,
    logistic,
    logistic_weight,
    path_risk,
    surrogate_risks,
)

ARGUMENTS = {"dims": (6,), "strengths": (2.0,), "logit_scales": (1.0,), "densities": ("slof",), "n": 30, "k": 5}


def test_losses_and_their_slopes_are_the_formulas():
    margin = np.array([-3.0, 0.0, 0.5, 1.0, 4.0])
    np.testing.assert_allclose(logistic(margin), np.log(1 + np.exp(-margin)))
    np.testing.assert_allclose(hinge(margin), [4, 1, 0.5, 0, 0])
    np.testing.assert_allclose(logistic_weight(margin), 1 / (1 + np.exp(margin)))
    assert logistic(np.array([-1000.0]))[0] == 1000
    assert logistic_weight(np.array([1000.0]))[0] == 0


@pytest.mark.parametrize(("dim", "area"), [(2, 2 * math.pi), (3, 4 * math.pi), (4, 2 * math.pi**2)])
def test_the_area_of_the_sphere(dim, area):
    assert math.exp(log_sphere_area(dim)) == pytest.approx(area)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), size=st.floats(0.01, 3), noise=st.floats(0, 1))
def test_wherever_the_condition_is_met_the_risk_falls(loss, seed, size, noise):
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    share = rng.dirichlet(np.ones(30))
    scaled = size * (label * rng.random(30) + rng.normal(size=30) * 0.3)
    found = path_risk(loss, label, share, rng.normal(size=30), scaled, rng.uniform(-1, 1, 30) * noise * size * 0.3)
    if found.hard_mass > found.remainder + 1e-3 * size:
        assert found.after < found.before


def test_the_condition_can_be_met_and_can_fail():
    label, share = np.ones(4), np.full(4, 0.25)
    met = path_risk("logistic", label, share, np.zeros(4), np.full(4, 2.0), np.full(4, -0.1))
    assert met.hard_mass == pytest.approx(2 / (1 + math.exp(1.9)))
    assert met.remainder == pytest.approx(0.1)
    assert met.after == pytest.approx(math.log(1 + math.exp(-1.9)))
    assert met.before == pytest.approx(math.log(2))
    failing = path_risk("hinge", label, share, np.full(4, 20.0), np.full(4, 2.0), np.full(4, -0.1))
    assert failing.hard_mass == 0
    assert failing.after == failing.before == 0


def test_rows_are_those_of_the_text_read_literally():
    rows = surrogate_risks(**ARGUMENTS, each=20, seed=3)
    m = measure(kent_groups(3, dim=6), n=30, k=5, each=20)
    alpha, eta = m.line.slope, m.line.intercept
    assert len(rows) == 4 * 2 * 2 * 2
    for row in rows:
        g = row.group
        area = math.log(math.pi**3) if row.measure == "uniform" else 0.0
        before = after = 0.0
        expectations = np.zeros(41)
        largest = 0.0
        for i in range(len(m.points)):
            own = m.of[i] == g
            if row.reading == "own samples" and not own:
                continue
            share = 1 / 20 if row.reading == "own samples" else (0.5 / 20 if own else 0.5 / 60)
            y = 1 if own else -1
            L = m.log_density[i, g] + area
            # The measure of the density moves eta, not the margin.
            r = -2.0 * (eta + alpha * area) - 2.0 * m.errors[i, g]
            m0 = 1.0 * m.world.prompts[g] @ m.points[i]
            loss = (lambda t: math.log(1 + math.exp(-t))) if row.loss == "logistic" else (lambda t: max(0, 1 - t))
            before += share * loss(y * m0)
            after += share * loss(y * (m0 + alpha * 2.0 * L + r))
            for step, theta in enumerate(np.linspace(0, 1, 41)):
                t = y * (m0 + theta * (alpha * 2.0 * L + r))
                weight = 1 / (1 + math.exp(t)) if row.loss == "logistic" else float(t < 1)
                expectations[step] += share * weight * y * L
            largest = max(largest, abs(r))
        assert row.risk_before == pytest.approx(before)
        assert row.risk_after == pytest.approx(after)
        assert row.hard_mass == pytest.approx(alpha * 2.0 * expectations.min())
        assert row.remainder == pytest.approx(largest)
        assert row.condition == pytest.approx(alpha * 2.0 * expectations.min() - largest)
        assert row.decreased == (after < before)
        assert row.condition_met == (expectations.min() > 0 and alpha * 2.0 * expectations.min() > largest)


def test_nothing_contradicts_the_theorem_and_slof_never_meets_its_condition():
    rows = surrogate_risks(dims=(6, 16), each=100)
    assert not any(row.contradicted for row in rows)
    assert not any(row.condition_met for row in rows if row.density == "slof")
    assert any(row.condition_met for row in rows if row.density == "knn")
    assert all(row.assumption_met for row in rows if row.condition_met)
    assert len(columns(rows)["condition"]) == len(rows)
