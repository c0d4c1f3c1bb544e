import numpy as np
import pytest

from dat_lib.columns import columns
from dat_lib.theory.anisotropy import anisotropy_terms, regress
from dat_lib.theory.groups import kent_groups
from dat_lib.theory.margin import measure


@pytest.fixture(scope="module")
def rows():
    return anisotropy_terms(dims=(6,), ns=(500,), ellipticities=(-0.6, 0.0, 0.6), each=300, strength=4.0)


def test_the_decomposition_needs_the_constant_with_a_plus(rows):
    for row in rows:
        assert row.decomposition_error < 1e-11
        assert row.printed_sign_error == pytest.approx(2 * 4.0 * row.slope * abs(row.log_constant), rel=1e-9)
        assert row.linear_expected == pytest.approx(row.slope * 4.0 * row.kappa)
        assert row.quadratic_expected == pytest.approx(row.slope * 4.0 * row.beta)


def test_slof_brings_the_quadratic_term_back_with_its_sign(rows):
    for row in rows:
        assert np.sign(row.beta) == np.sign(row.ellipticity)
        if row.beta:
            assert np.sign(row.quadratic) == np.sign(row.beta)
            assert row.reinstated
        else:
            assert abs(row.quadratic) < 4 * row.quadratic_error


def test_what_is_said_not_to_affect_the_argmax_does(rows):
    for row in rows:
        assert row.decisions_by_remainder > 0.05
        assert row.decisions_by_constant > 0.05


def test_decisions_are_counted_from_the_terms_written_out():
    (row, *_) = anisotropy_terms(dims=(6,), ns=(50,), ellipticities=(0.5,), each=20, strength=3.0, logit_scale=2.0)
    m = measure(kent_groups(0, dim=6, ellipticity=0.5), n=50, k=10, each=20)
    changed = np.zeros(3)
    for i, z in enumerate(m.points):
        margin, right, bare, printed = [], [], [], []
        for g, group in enumerate(m.world.groups):
            g1, g2, g3 = group.axes
            linear = (2.0 * m.world.prompts[g] + m.line.slope * 3.0 * group.kappa * g1) @ z
            quadratic = m.line.slope * 3.0 * group.beta * ((g2 @ z) ** 2 - (g3 @ z) ** 2)
            constant = m.line.slope * 3.0 * group.log_constant
            margin.append(2.0 * m.world.prompts[g] @ z - 3.0 * m.log_sparsity[i, g])
            right.append(linear + quadratic + constant)
            bare.append(linear + quadratic)
            printed.append(linear + quadratic - constant)
        changed += [np.argmax(other) != np.argmax(right) for other in (margin, bare, printed)]
    shares = (row.decisions_by_remainder, row.decisions_by_constant, row.decisions_by_printed_sign)
    np.testing.assert_allclose(shares, changed / len(m.points))


def test_regression_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    predictors = rng.normal(size=(30, 2)) + 5
    response = predictors @ [2.0, -1.0] + 3 + rng.normal(size=30)
    coefficients, errors = regress(response, predictors)
    design = np.column_stack([predictors, np.ones(30)])
    expected, squares, *_ = np.linalg.lstsq(design, response)
    np.testing.assert_allclose(coefficients, expected[:2])
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(design.T @ design))[:2] * squares[0] / 27))


def test_what_cannot_be_regressed_is_refused():
    with pytest.raises(ValueError, match="need 4 samples or more"):
        regress(np.zeros(3), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="depend on each other"):
        regress(np.arange(5.0), np.arange(5.0)[:, None] * [1.0, 2.0])


def test_results_are_a_table(rows):
    assert len(columns(rows)["quadratic"]) == 12
