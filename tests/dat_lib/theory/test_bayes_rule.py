import math

import numpy as np
import pytest

from dat_lib.columns import columns
from dat_lib.theory.bayes_rule import bayes_approach, bayes_classes
from dat_lib.theory.groups import kent_groups
from tests.dat_lib import literal

ARGUMENTS = {"dims": (6,), "ns": (20,), "k": 5, "strength": 3.0, "temperature": 0.1, "each": 15, "repeats": 2}


def test_the_bayes_rule_adds_densities_over_attributes():
    # A class with two likely groups beats one with the single likeliest.
    log_density = np.log([[0.3, 0.3, 0.5, 0.01], [0.1, 0.1, 0.5, 0.01]])
    assert bayes_classes(log_density, (2, 2)).tolist() == [0, 1]
    assert bayes_classes(log_density - 5000, (2, 2)).tolist() == [0, 1]


def test_decisions_are_those_of_the_literal_algorithm():
    rows = bayes_approach(**ARGUMENTS, densities=("slof",), neighbours=("fixed",), seed=5)
    world = kent_groups(5, dim=6)
    points, of = world.queries(15)
    labels = of // 2
    likelihood = np.exp(world.log_densities(points)).reshape(-1, 2, 2).sum(axis=2)
    bayes = likelihood.argmax(axis=1)
    decided = {"bayes": [bayes], "zero shot": [(points @ world.class_text.T).argmax(axis=1)]}
    for rule in ("dat ratio", "dat logit", "density only"):
        decided[rule] = []
    for repeat in range(2):
        references = [world.references(20, repeat)[2 * y : 2 * y + 2] for y in range(2)]
        text = world.class_text, world.group_text
        decided["dat ratio"].append(
            [int(np.argmax(literal.dat_scores(z, references, *text, k=5, strength=3.0))) for z in points]
        )
        decided["dat logit"].append(
            [
                int(np.argmax(literal.dat_logits(z, references, *text, k=5, strength=3.0, temperature=0.1)))
                for z in points
            ]
        )
        decided["density only"].append(
            [
                int(np.argmin([literal.slof(z, references[y][a], 5) for y in range(2) for a in range(2)])) // 2
                for z in points
            ]
        )
    assert [row.rule for row in rows] == list(decided)
    for row in rows:
        wrong = np.array(decided[row.rule]) != labels
        agreement = (np.array(decided[row.rule]) == bayes).mean(axis=1)
        assert row.error == pytest.approx(wrong.mean())
        assert row.agreement == pytest.approx(agreement.mean())
        assert row.agreement_deviation == pytest.approx(agreement.std())
        assert row.worst_group_error == pytest.approx(max(wrong[:, of == g].mean() for g in range(4)))
        assert row.excess_error == pytest.approx(wrong.mean() - (bayes != labels).mean())


def test_neighbours_go_with_the_root_of_n_where_asked_and_never_reach_n():
    rows = bayes_approach(**{**ARGUMENTS, "ns": (4, 30, 100)}, densities=("knn",))
    with_references = [row for row in rows if row.n]
    root = {(row.n, row.k) for row in with_references if row.neighbours == "root"}
    assert root == {(4, 2), (30, round(math.sqrt(30))), (100, 10)}
    assert {(row.n, row.k) for row in with_references if row.neighbours == "fixed"} == {(30, 5), (100, 5)}
    assert len(columns(rows)["agreement"]) == 2 + 3 * 5


def test_more_references_bring_distances_close_to_bayes_and_slof_less_so():
    rows = bayes_approach(dims=(6,), ns=(56, 2000), each=150, repeats=1, neighbours=("root",))
    agreement = {(row.density, row.n): row.agreement for row in rows if row.rule == "density only"}
    assert agreement["knn", 2000] > agreement["knn", 56]
    assert agreement["knn", 2000] > 0.92
    assert agreement["knn", 2000] > agreement["slof", 2000] + 0.01
    assert max(row.agreement for row in rows if row.rule == "dat ratio" and row.density == "slof") < 0.95


def test_no_repeats_are_refused():
    with pytest.raises(ValueError, match="repeats must be 1 or more"):
        bayes_approach(repeats=0)
