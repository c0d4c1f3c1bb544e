"""Queries in blocks: methods that say they classify each image by itself do, and what they tell adds up."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dat_lib.methods.support.blocks import joined_notes
from dat_lib.methods.support.contract import Densities, Prediction, run_method
from dat_lib.methods.support.pool_densities import pool_densities
from tests.dat_lib.methods.test_needs import CASES, made, world

BY_THEMSELVES = [case for case in CASES if made(*case).needs.one_by_one]
CUTS = (0, 1, 33, 80)


def given_in_full(method):
    problem, wanted = world(), method.needs.densities
    return problem if wanted is None else replace(problem, densities=pool_densities(problem, wanted))


def block_of(problem, rows):
    densities = problem.densities and Densities(problem.densities.log_density[rows], problem.densities.notes)
    return replace(problem, queries=problem.queries[rows], query_ids=problem.query_ids[rows], densities=densities)


@pytest.mark.parametrize(("name", "settings"), BY_THEMSELVES)
def test_blocks_of_queries_are_classified_as_all_at_once(name, settings) -> None:
    method = made(name, settings)
    problem = given_in_full(method)
    whole = run_method(method, problem)
    parts = [run_method(method, block_of(problem, slice(first, last))) for first, last in pairwise(CUTS)]
    np.testing.assert_array_equal(np.concatenate([part.labels for part in parts]), whole.labels)
    if whole.scores is not None:
        np.testing.assert_allclose(np.concatenate([part.scores for part in parts]), whole.scores, rtol=1e-5, atol=1e-6)
    assert joined_notes(parts) == pytest.approx(dict(whole.notes))


def test_methods_that_look_at_no_pool_say_that_they_take_blocks() -> None:
    assert {name for name, _ in BY_THEMSELVES} == {
        name for name, settings in CASES if not made(name, settings).needs.pool
    }


def part(size, averaged=(), added=(), **notes):
    return Prediction(np.zeros(size, np.int64), notes=notes, averaged=averaged, added=added)


def test_means_are_averaged_by_queries_and_counts_added_up() -> None:
    parts = [
        part(size, ("share",), ("count", "counts"), share=share, count=size, counts=[size, 1], kind="pool")
        for size, share in ((1, 1.0), (3, 0.0))
    ]
    assert joined_notes(parts) == {"share": 0.25, "count": 4, "counts": [4, 2], "kind": "pool"}
    assert joined_notes(parts[:1]) == parts[0].notes


@pytest.mark.parametrize("second", [{"kind": "train"}, {}, {"kind": "pool", "more": 1}])
def test_a_note_that_differs_and_is_neither_is_refused(second) -> None:
    with pytest.raises(ValueError, match="from block to block"):
        joined_notes([part(1, kind="pool"), part(1, **second)])
