import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dat_lib.scores import RatioScores, first_largest, log_sum


@given(st.integers(0, 999), st.integers(1, 6))
def test_the_first_of_equal_scores_wins(seed, count):
    scores = torch.from_numpy(np.random.default_rng(seed).integers(-2, 3, (2, count, 9)).astype(float))
    scores[scores == -2] = -math.inf
    expected = np.argmax(scores.numpy(), axis=1)
    assert first_largest(scores).tolist() == expected.tolist()


def test_a_logarithm_of_a_sum_at_its_ends():
    logarithms = torch.tensor([-math.inf, -1e6, -18.5, 0.0, 3.0, 1e6, math.inf], dtype=torch.float64)
    found = log_sum(logarithms, 1e-8).tolist()
    smallest = math.log(1e-8)
    expected = [smallest, smallest, math.log(math.exp(-18.5) + 1e-8), math.log1p(1e-8), 3.0, 1e6, math.inf]
    assert found == pytest.approx(expected, rel=1e-9)


def test_strengths_in_any_order_give_what_each_gives_alone():
    rng = np.random.default_rng(0)
    groups, classes, log_density = (
        torch.from_numpy(rng.uniform(0.1, 0.4, shape)) for shape in ((2, 3, 5), (3, 5), (2, 3, 5))
    )
    strengths = (0.0, 1.0, 2.0, 3.0, 3.0, 10.0, 0.5, 1.0, 0.0)
    together = RatioScores(groups, classes, log_density.clone()).at(strengths)
    for position, strength in enumerate(strengths):
        alone = RatioScores(groups, classes, log_density.clone()).at([strength])
        for found, expected in zip(together, alone, strict=True):
            torch.testing.assert_close(found[position], expected[0], rtol=1e-14, atol=0)
