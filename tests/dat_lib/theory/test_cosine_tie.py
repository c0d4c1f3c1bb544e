import math
from itertools import combinations

import numpy as np
import pytest

from dat_lib.columns import columns
from dat_lib.theory.cosine_tie import cosine_rankings, cosine_ties
from dat_lib.theory.kent import Kent, random_axes

TIES = cosine_ties()


def test_the_points_as_printed_are_not_on_the_sphere():
    rows = [row for row in TIES if row.construction == "as printed"]
    assert len(rows) == 36
    for row in rows:
        assert row.norm == pytest.approx(math.sqrt(row.t**2 + row.r**2))
        assert not row.on_sphere
        assert not row.holds


@pytest.mark.parametrize("construction", ["full radius", "fourth axis"])
def test_with_the_length_made_one_the_proposition_holds_wherever_beta_is_not_zero(construction):
    rows = [row for row in TIES if row.construction == construction]
    assert {row.dim for row in rows} == ({3, 16, 64} if construction == "full radius" else {16, 64})
    for row in rows:
        assert row.on_sphere
        assert abs(row.cosine_difference) < 1e-12
        assert row.log_density_difference == pytest.approx(2 * row.beta * row.r**2, abs=1e-9)
        assert row.holds == (row.beta != 0)
        assert np.sign(row.log_density_difference) == np.sign(row.beta) or row.beta == 0


def test_the_share_of_discordant_pairs_is_counted_pair_by_pair():
    (row,) = cosine_rankings(dims=(5,), ellipticities=(0.8,), samples=40, seed=3)
    rng = np.random.default_rng([3, 5])
    kappa = 4 / 0.36
    group = Kent(kappa, 0.4 * kappa, random_axes(rng, 5))
    points = group.sample(rng, 40)
    cosine, log_density = points @ group.axes[0], group.log_density(points)
    pairs = list(combinations(range(40), 2))
    discordant = sum((cosine[i] - cosine[j]) * (log_density[i] - log_density[j]) < 0 for i, j in pairs)
    assert row.discordant == pytest.approx(discordant / len(pairs))
    assert row.discordant > 0


def test_without_ellipticity_cosine_ranks_as_the_density_does():
    for row in cosine_rankings(ellipticities=(0.0,), samples=100):
        assert row.discordant == 0
        assert row.log_density_variance_missed == pytest.approx(0, abs=1e-9)


def test_results_are_tables():
    assert len(columns(TIES)["holds"]) == len(TIES)
    assert columns(cosine_rankings(dims=(3,), samples=20))["discordant"].dtype == float


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="cosines must lie in"):
        cosine_ties(cosines=[1.0])
    with pytest.raises(ValueError, match="3 samples or more"):
        cosine_rankings(samples=2)
