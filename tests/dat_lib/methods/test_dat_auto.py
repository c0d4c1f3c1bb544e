from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from dat_lib.methods import dat_auto
from dat_lib.methods.dat import Dat
from dat_lib.methods.dat_auto import DatAuto
from dat_lib.methods.support.contract import Problem
from dat_lib.methods.support.pool_densities import run_on_pool
from dat_lib.metrics import group_metrics
from dat_lib.references import select_references
from dat_lib.toyworld.simulation import simulate

GRID = {"ks": (3, 6), "strengths": (0.0, 5.0), "terms": ("both", "group", "average")}


def problem(seed=0, train=800, test=100, rarest=None):
    """A simulated world; `rarest` keeps only so many pool images of the group (1, 0)."""
    world = simulate(seed=seed, dim=16, train=train, val=40, test=test, correlation=0.85)
    pool, queries = np.flatnonzero(world.part("train")), world.part("test")
    if rarest is not None:
        rare = (world.labels[pool] == 1) & (world.attributes[pool] == 0)
        pool = pool[~rare | (np.cumsum(rare) <= rarest)]
    return Problem(
        queries=world.embeddings[queries],
        text=world.text,
        n_classes=2,
        n_attributes=2,
        query_ids=world.sample_ids[queries],
        pool=world.embeddings[pool],
        pool_ids=world.sample_ids[pool],
        pool_labels=world.labels[pool],
        pool_attributes=world.attributes[pool],
    )


def literal_choice(given, n, judged):
    """Every setting by itself through DAT, the judged rows of the pool as queries."""
    asked = replace(given, queries=given.pool[judged], query_ids=given.pool_ids[judged])
    best = None
    for k, strength, terms in product(*GRID.values()):
        labels = run_on_pool(Dat(n=n, k=k, strength=strength, terms=terms), asked).labels
        m = group_metrics(labels, given.pool_labels[judged], given.pool_attributes[judged])
        if best is None or (m.worst_group, m.average) > (best[0].worst_group, best[0].average):
            best = m, {"k": k, "strength": strength, "terms": terms}
    return best


def held_out_rows(given, n):
    references = select_references(
        given.pool, given.pool_labels, given.pool_attributes, n=n, k=1, n_classes=2, n_attributes=2
    )
    return np.setdiff1d(np.arange(len(given.pool)), references.positions), references.positions


def test_it_takes_the_setting_that_is_best_on_held_out_images():
    given = problem()
    held_out, _ = held_out_rows(given, 20)
    metrics, chosen = literal_choice(given, 20, held_out)
    notes = run_on_pool(DatAuto(n=20, per_group=10_000, **GRID), given).notes
    assert notes["chosen"] == chosen
    assert notes["pool_worst_group"] == metrics.worst_group
    assert notes["pool_average"] == metrics.average
    assert notes["judged_held_out"] == len(held_out)
    assert notes["judged_leave_one_out"] == 0


def test_of_equal_worst_groups_the_higher_average_decides_and_then_the_order(monkeypatch):
    reached = [(50, 95), (70, 80), (70, 90), (70, 90)]
    measured = iter([SimpleNamespace(worst_group=worst, average=average) for worst, average in reached])
    monkeypatch.setattr(dat_auto, "group_metrics", lambda *_, **__: next(measured))
    grid = {"ks": (3,), "strengths": (0.0, 1.0, 2.0, 3.0), "terms": ("both",)}
    notes = run_on_pool(DatAuto(n=20, **grid), problem()).notes
    assert notes["chosen"] == {"k": 3, "strength": 2.0, "terms": "both"}
    assert (notes["pool_worst_group"], notes["pool_average"]) == (70, 90)


def test_a_group_without_images_to_spare_is_judged_leaving_one_out():
    given = problem(rarest=25)
    held_out, references = held_out_rows(given, 20)
    rare = (given.pool_labels == 1) & (given.pool_attributes == 0)
    judged = np.concatenate([held_out, references[rare[references]]])
    metrics, chosen = literal_choice(given, 20, judged)
    notes = run_on_pool(DatAuto(n=20, per_group=10_000, **GRID), given).notes
    assert notes["chosen"] == chosen
    assert notes["pool_worst_group"] == metrics.worst_group
    assert (notes["judged_held_out"], notes["judged_leave_one_out"]) == (len(held_out), 20)


def test_it_predicts_as_dat_with_the_setting_it_chose():
    given = problem()
    prediction = run_on_pool(DatAuto(n=20, **GRID), given)
    dat = run_on_pool(Dat(n=20, **prediction.notes["chosen"]), given)
    np.testing.assert_array_equal(prediction.labels, dat.labels)
    np.testing.assert_array_equal(prediction.scores, dat.scores)
    assert {key: prediction.notes[key] for key in dat.notes} == dat.notes


def test_it_never_judges_more_than_per_group_images_and_draws_them_by_the_seed():
    given = problem()
    method = DatAuto(n=20, per_group=15, **GRID)
    notes = run_on_pool(method, given).notes
    assert notes["judged_held_out"] + notes["judged_leave_one_out"] == 60
    assert run_on_pool(method, given).notes == notes
    reached = {run_on_pool(method, replace(given, seed=seed)).notes["pool_average"] for seed in range(4)}
    assert len(reached) > 1


def test_the_queries_have_no_say_in_the_choice():
    given = problem()
    other = replace(given, queries=-given.queries[:7], query_ids=given.query_ids[:7])
    method = DatAuto(n=20, **GRID)
    assert run_on_pool(method, other).notes["chosen"] == run_on_pool(method, given).notes["chosen"]


def test_groups_can_be_attributes_alone():
    given = problem()
    held_out, _ = held_out_rows(given, 20)
    asked = replace(given, queries=given.pool[held_out], query_ids=given.pool_ids[held_out])
    notes = run_on_pool(DatAuto(n=20, per_group=10_000, groups="attribute", **GRID), given).notes
    labels = run_on_pool(Dat(n=20, **notes["chosen"]), asked).labels
    reached = group_metrics(labels, given.pool_labels[held_out], given.pool_attributes[held_out], groups="attribute")
    assert notes["pool_worst_group"] == reached.worst_group


def test_only_neighbourhoods_below_n_are_tried():
    notes = run_on_pool(DatAuto(n=6, ks=(3, 6, 50), strengths=(1.0,), terms=("both",)), problem()).notes
    assert notes["chosen"] == {"k": 3, "strength": 1.0, "terms": "both"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 5}, r"ks = .* has no value below n = 5"),
        ({"strengths": ()}, "strengths is empty"),
        ({"terms": ["most"]}, "terms = 'most' is not allowed; it takes one of 'both', 'group', 'average'"),
        ({"strengths": [-1]}, "strengths = .* must be at least 0"),
        ({"ks": [0]}, "ks = .* must be at least 1"),
    ],
)
def test_grids_that_cannot_work_are_refused(settings, message):
    with pytest.raises(ValueError, match=f"dat_auto: .*{message}"):
        DatAuto(**settings)
