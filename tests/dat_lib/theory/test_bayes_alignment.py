import numpy as np
import pytest

from dat_lib.columns import columns
from dat_lib.theory.bayes_alignment import bayes_alignment
from dat_lib.theory.groups import kent_groups
from dat_lib.theory.margin import measure

ARGUMENTS = {"dims": (6,), "ns": (40,), "strengths": (1.0, 10.0), "logit_scales": (0.0, 1.0), "k": 8, "each": 30}


@pytest.fixture(scope="module")
def rows():
    return bayes_alignment(**ARGUMENTS, seed=4)


def literal(strength, logit_scale):
    """Theorem 1 and the condition of its proof, sample by sample and pair by pair."""
    m = measure(kent_groups(4, dim=6), n=40, k=8, each=30)
    alpha, eta, c = m.line.slope, m.line.intercept, m.line.residual_bound
    agree, met, remainders = [], {"uniform": [], "printed": [], "tight": []}, []
    for i in range(len(m.points)):
        margin, r = [], []
        for g in range(4):
            cosine = m.world.prompts[g] @ m.points[i]
            margin.append(logit_scale * cosine - strength * m.log_sparsity[i, g])
            error = m.log_sparsity[i, g] - alpha * (-m.log_density[i, g]) - eta
            r.append(-strength * eta - strength * error)
        remainders += r
        best = int(np.argmax(m.log_density[i]))
        agree.append(int(np.argmax(margin)) == best)
        conditions = {name: [] for name in met}
        for g in range(4):
            if g == best:
                continue
            gap = alpha * strength * abs(m.log_density[i, best] - m.log_density[i, g])
            pull = abs(logit_scale * (m.world.prompts[best] - m.world.prompts[g]) @ m.points[i])
            conditions["uniform"].append(gap > pull + 2 * strength * (abs(eta) + c))
            conditions["printed"].append(gap > pull + abs(r[best]) + abs(r[g]))
            conditions["tight"].append(gap > pull + abs(r[best] - r[g]))
        for name, values in conditions.items():
            met[name].append(all(values))
    return np.array(agree), {name: np.array(values) for name, values in met.items()}, np.array(remainders)


@pytest.mark.parametrize(("strength", "logit_scale"), [(1.0, 0.0), (1.0, 1.0), (10.0, 1.0)])
def test_rows_are_those_of_the_text_read_literally(rows, strength, logit_scale):
    (row,) = [row for row in rows if (row.strength, row.logit_scale) == (strength, logit_scale)]
    agree, met, remainders = literal(strength, logit_scale)
    assert row.samples == len(agree)
    assert row.agreement == agree.mean()
    assert row.uniform_condition == met["uniform"].mean()
    assert row.printed_condition == met["printed"].mean()
    assert row.tight_condition == met["tight"].mean()
    assert row.remainder == pytest.approx(np.abs(remainders).max())
    assert row.agreement_where_met == pytest.approx(
        agree[met["tight"]].mean() if met["tight"].any() else np.nan, nan_ok=True
    )
    assert row.agreement_elsewhere == pytest.approx(agree[~met["tight"]].mean())


def test_the_decomposition_is_an_identity_and_the_bound_holds_but_is_wider_than_the_density_term(rows):
    for row in rows:
        assert row.identity_error < 1e-12
        assert row.remainder <= row.bound * (1 + 1e-9)
        assert row.within_bound
        assert row.holds
        assert row.uniform_condition <= row.printed_condition <= row.tight_condition <= row.agreement
        assert row.bound > row.density_term


def test_groups_far_apart_are_told_apart_by_density_and_margin_alike():
    world = kent_groups(0, dim=6, spread=0.1, class_offset=10.0, attribute_offset=10.0)
    m = measure(world, n=200, k=20, each=30)
    assert (m.log_density.argmax(axis=1) == m.of).all()
    assert (m.margins(10.0, 0.0).argmax(axis=1) == m.of).all()


def test_results_are_a_table(rows):
    assert len(columns(rows)["agreement"]) == 4


def test_no_queries_are_refused():
    with pytest.raises(ValueError, match="1 query or more"):
        bayes_alignment(dims=(6,), each=0)
