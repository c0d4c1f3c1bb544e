"""The controls that use DAT's references without any prompt."""

from dataclasses import replace

import numpy as np
import pytest

from dat_lib.methods import knn_vote
from dat_lib.methods.dat import Dat
from dat_lib.methods.density_only import DensityOnly
from dat_lib.methods.knn_vote import KnnVote
from dat_lib.methods.nearest_class_mean import WITHOUT_REFERENCES, NearestClassMean
from dat_lib.methods.support.contract import NotApplicableError, Problem
from dat_lib.methods.support.pool_densities import run_on_pool
from tests.dat_lib.literal import dao, herd_argmin, knn_distance, lid_mle, slof, unit

CONTROLS = [NearestClassMean, KnnVote, DensityOnly]


def problem(seed=0, n=40, n_pool=160, n_classes=3, n_attributes=2, d=6):
    rng = np.random.default_rng(seed)
    return Problem(
        queries=rng.normal(size=(n, d)),
        text={"class": rng.normal(size=(n_classes, d)), "group": rng.normal(size=(n_classes, n_attributes, d))},
        n_classes=n_classes,
        n_attributes=n_attributes,
        query_ids=np.array([f"q{i}" for i in range(n)]),
        pool=rng.normal(size=(n_pool, d)) * rng.uniform(1, 3, size=(n_pool, 1)),
        pool_ids=np.array([f"p{i}" for i in range(n_pool)]),
        pool_labels=np.arange(n_pool) % n_classes,
        pool_attributes=np.arange(n_pool) // n_classes % n_attributes,
    )


def literal_references(given, n):
    """(vector, class, attribute, pool row) of every herded reference."""
    found = []
    for y in range(given.n_classes):
        for a in range(given.n_attributes):
            rows = np.flatnonzero((given.pool_labels == y) & (given.pool_attributes == a))
            if len(rows) >= n:
                members = unit(given.pool[rows])
                found += [(members[i], y, a, rows[i]) for i in herd_argmin(members, n)]
    return found


def without(given, chosen):
    """The problem without some rows of its pool."""
    return replace(
        given,
        pool=given.pool[~chosen],
        pool_ids=given.pool_ids[~chosen],
        pool_labels=given.pool_labels[~chosen],
        pool_attributes=given.pool_attributes[~chosen],
    )


def asking_for_references(given, n, count=6):
    """Queries that are references themselves, and the rows of the pool they are."""
    rows = [row for *_, row in literal_references(given, n)][:: n - 1][:count]
    return replace(given, queries=given.pool[rows], query_ids=given.pool_ids[rows]), rows


@pytest.mark.parametrize("among_references", [False, True])
def test_nearest_class_mean(among_references):
    given, own = problem(), None
    references = literal_references(given, 9)
    if among_references:
        given, own = asking_for_references(given, 9)
    expected = []
    for i, query in enumerate(unit(given.queries)):
        left_out = own[i] if own else None
        means = [
            unit(np.mean([z for z, label, _, row in references if label == y and row != left_out], axis=0))
            for y in range(3)
        ]
        expected.append([query @ mean for mean in means])
    prediction = run_on_pool(NearestClassMean(n=9, k=3), given)
    np.testing.assert_allclose(prediction.scores, expected, atol=1e-12)
    np.testing.assert_array_equal(prediction.labels, np.argmax(expected, axis=1))


@pytest.mark.parametrize("among_references", [False, True])
@pytest.mark.parametrize("k", [1, 4, 5])
def test_knn_vote(k, among_references):
    given, own = problem(n=120), None
    references = literal_references(given, 9)
    if among_references:
        given, own = asking_for_references(given, 9)
    prediction = run_on_pool(KnnVote(n=9, k=k), given)
    for i, query in enumerate(unit(given.queries)):
        others = [(np.linalg.norm(query - z), y) for z, y, _, row in references if not own or row != own[i]]
        voters = [y for _, y in sorted(others)[:k]]
        votes = [voters.count(y) for y in range(3)]
        np.testing.assert_allclose(prediction.scores[i], np.array(votes) / k)
        tied = [y for y in voters if voters.count(y) == max(votes)]
        assert prediction.labels[i] == tied[0]


def test_knn_vote_does_not_depend_on_its_blocks(monkeypatch):
    given, _ = asking_for_references(problem(), 9)
    whole = run_on_pool(KnnVote(n=9, k=4), given)
    monkeypatch.setattr(knn_vote, "BLOCK_PAIRS", 200)
    np.testing.assert_array_equal(run_on_pool(KnnVote(n=9, k=4), given).scores, whole.scores)


LITERAL_DENSITIES = {
    "slof": slof,
    "knn": knn_distance,
    "dao": lambda query, group, k, leave_out=None: dao(query, group, k, lid_mle, leave_out),
}


@pytest.mark.parametrize("among_references", [False, True])
@pytest.mark.parametrize("density", LITERAL_DENSITIES)
def test_density_only(density, among_references):
    given, own = problem(), None
    references = literal_references(given, 9)
    if among_references:
        given, own = asking_for_references(given, 9)
    expected = []
    for i, query in enumerate(unit(given.queries)):
        table = np.empty((3, 2))
        for y, a in np.ndindex(3, 2):
            group = [(z, row) for z, label, attribute, row in references if (label, attribute) == (y, a)]
            rows = [row for _, row in group]
            left_out = rows.index(own[i]) if own and own[i] in rows else None
            table[y, a] = LITERAL_DENSITIES[density](query, [z for z, _ in group], 3, left_out)
        expected.append(table.min(axis=1))
    expected = np.array(expected)
    prediction = run_on_pool(DensityOnly(n=9, k=3, density=density), given)
    np.testing.assert_allclose(prediction.scores, 1 / (expected + 1e-8), rtol=1e-6)
    np.testing.assert_array_equal(prediction.labels, expected.argmin(axis=1))


@pytest.mark.parametrize("control", CONTROLS)
def test_controls_use_the_references_of_dat_and_tell_the_same_about_them(control):
    given = problem()
    few = (given.pool_labels == 2) & (given.pool_attributes == 1)
    given = without(given, few & (np.cumsum(few) > 4))
    of_dat = dict(run_on_pool(Dat(n=9, k=3), given).notes)
    del of_dat["negative_similarity_share"]
    assert run_on_pool(control(n=9, k=3), given).notes == of_dat
    assert of_dat["dropped_groups"] == [{"class": 2, "attribute": 1, "have": 4, "need": 9}]


@pytest.mark.parametrize("control", CONTROLS)
def test_a_class_without_references_is_never_predicted(control):
    given = problem()
    prediction = run_on_pool(control(n=9, k=3), without(given, given.pool_labels == 0))
    assert (prediction.labels > 0).all()
    assert len(prediction.notes["dropped_groups"]) == 2
    if control is NearestClassMean:
        assert (prediction.scores[:, 0] == WITHOUT_REFERENCES).all()


@pytest.mark.parametrize("control", CONTROLS)
def test_a_pool_that_serves_no_group_makes_a_control_not_applicable(control):
    with pytest.raises(NotApplicableError, match="no group has the 50 references that it takes: the largest has"):
        run_on_pool(control(n=50, k=3), problem())


@pytest.mark.parametrize("control", CONTROLS)
def test_references_of_one_class_make_a_control_not_applicable(control):
    given = problem()
    with pytest.raises(NotApplicableError, match="only class 2 has references"):
        run_on_pool(control(n=9, k=3), without(given, given.pool_labels < 2))


@pytest.mark.parametrize("control", CONTROLS)
def test_k_must_be_below_n(control):
    with pytest.raises(ValueError, match=f"{control.name}: setting k = 9 must be below n = 9"):
        control(n=9, k=9)
