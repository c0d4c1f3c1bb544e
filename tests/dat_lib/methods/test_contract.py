from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from dat_lib.methods.support.contract import (
    Densities,
    DensityNeeds,
    Method,
    Needs,
    Prediction,
    Problem,
    run_method,
    text_role,
)

ALL = Needs(("class", "attribute", "group"), True, True, True, True)


def problem(n=6, n_pool=9, n_classes=2, n_attributes=3, d=4):
    rng = np.random.default_rng(0)
    return Problem(
        queries=rng.normal(size=(n, d)).astype(np.float32),
        text={
            "class": rng.normal(size=(n_classes, d)),
            "attribute": rng.normal(size=(n_attributes, d)),
            "group": rng.normal(size=(n_classes, n_attributes, d)),
        },
        n_classes=n_classes,
        n_attributes=n_attributes,
        query_ids=np.array([f"q{i}" for i in range(n)]),
        query_attributes=rng.integers(n_attributes, size=n),
        pool=rng.normal(size=(n_pool, d)).astype(np.float32),
        pool_ids=np.array([f"p{i}" for i in range(n_pool)]),
        pool_labels=rng.integers(n_classes, size=n_pool),
        pool_attributes=rng.integers(n_attributes, size=n_pool),
    )


@dataclass(frozen=True)
class Answering:
    """A method that answers what it was made with."""

    name: ClassVar[str] = "answering"
    title: ClassVar[str] = "Answering"
    needs: ClassVar[Needs] = Needs(text=("class",))

    answer: Prediction

    def predict(self, problem):
        return self.answer


def test_only_keeps_what_is_needed_and_nothing_else():
    kept = problem().only(Needs(text=("class",)))
    assert set(kept.text) == {"class"}
    assert kept.query_attributes is None
    assert kept.pool is kept.pool_ids is kept.pool_labels is kept.pool_attributes is None


@pytest.mark.parametrize(
    ("needs", "kept"),
    [
        (Needs((), test_attributes=True), {"query_attributes"}),
        (Needs((), pool=True), {"pool", "pool_ids"}),
        (Needs((), pool=True, pool_labels=True), {"pool", "pool_ids", "pool_labels"}),
        (Needs((), pool=True, pool_attributes=True), {"pool", "pool_ids", "pool_attributes"}),
    ],
)
def test_each_need_opens_its_own_door(needs, kept):
    given = problem().only(needs)
    doors = ["query_attributes", "pool", "pool_ids", "pool_labels", "pool_attributes"]
    assert {door for door in doors if getattr(given, door) is not None} == kept


@pytest.mark.parametrize("absent", ["query_attributes", "pool", "pool_ids", "pool_labels", "pool_attributes"])
def test_what_is_needed_but_absent_is_named(absent):
    with pytest.raises(ValueError, match=f"needs {absent}, which is not given"):
        replace(problem(), **{absent: None}).only(ALL)


def test_a_missing_role_is_named_with_those_there_are():
    with pytest.raises(ValueError, match='role "reject"; there are: attribute, class, group'):
        problem().only(Needs(text=("reject",)))


def test_labels_of_the_pool_are_of_no_use_without_it():
    with pytest.raises(ValueError, match="pool=True"):
        Needs(text=(), pool_labels=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queries": np.full((6, 4), np.nan)}, "queries is not finite"),
        ({"queries": np.ones((6, 4, 1))}, "queries must have 2 axes"),
        ({"query_ids": np.array(["a"])}, "query_ids"),
        ({"pool": np.ones((9, 5))}, "dimension 5 where 4"),
        ({"pool_ids": np.array(["a"])}, "pool_ids"),
        ({"pool_labels": np.full(9, 2)}, "pool_labels must lie in 0..1"),
        ({"pool_labels": np.full(9, -1)}, "pool_labels must lie in 0..1"),
        ({"pool_attributes": np.full(9, 3)}, "pool_attributes must lie in 0..2"),
        ({"query_attributes": np.zeros(6)}, "query_attributes must be integers"),
        ({"query_attributes": np.full(5, 0)}, "query_attributes has 5 entries where 6"),
        ({"text": {"class": np.ones((3, 4)), "attribute": np.ones((3, 4)), "group": np.ones((2, 3, 4))}}, "class"),
    ],
)
def test_malformed_input_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        replace(problem(), **change).only(ALL)


def test_an_attribute_without_prompt_is_allowed():
    given = replace(problem(), query_attributes=np.full(6, -1), pool_attributes=np.full(9, -1))
    assert (given.only(ALL).query_attributes == -1).all()


def test_a_stand_in_serves_under_the_name_asked_for():
    given = problem()
    kept = given.only(Needs(text=("spurious", "candidate")))
    np.testing.assert_array_equal(kept.text["spurious"], given.text["attribute"])
    np.testing.assert_array_equal(kept.text["candidate"], given.text["group"])
    assert text_role("candidate", {"candidate": 0, "group": 0}) == "candidate"
    assert text_role("accept", {"group": 0}) is None


def test_half_precision_is_widened():
    assert replace(problem(), queries=np.ones((6, 4), np.float16)).only(ALL).queries.dtype == np.float32


def test_a_good_prediction_passes_through():
    answer = Prediction(np.zeros(6, int), np.zeros((6, 2)), {"k": 3, "groups": [[0, 1]], "none": None})
    method = Answering(answer)
    assert isinstance(method, Method)
    assert run_method(method, problem()) is answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Prediction(np.zeros(5, int)), "expected 6 integers"),
        (Prediction(np.zeros(6)), "expected 6 integers"),
        (Prediction(np.full(6, 2)), "expected 0 to 1"),
        (Prediction(np.full(6, -1)), "expected 0 to 1"),
        (Prediction(np.zeros(6, int), np.zeros((6, 3))), r"expected \(6, 2\)"),
        (Prediction(np.zeros(6, int), np.full((6, 2), np.inf)), "not finite"),
        (Prediction(np.zeros(6, int), notes={"k": np.int64(3)}), "plain JSON"),
        (Prediction(np.zeros(6, int), notes={"share": float("nan")}), "plain JSON"),
    ],
)
def test_a_bad_prediction_is_refused_with_the_name_of_the_method(answer, message):
    with pytest.raises(ValueError, match=message) as raised:
        run_method(Answering(answer), problem())
    assert str(raised.value).startswith("answering")


def test_a_problem_that_lacks_something_names_the_method():
    answering = Answering(Prediction(np.zeros(6, int)))
    with pytest.raises(ValueError, match='answering: the method needs prompts of the role "class"'):
        run_method(answering, replace(problem(), text={}))


def test_densities_are_handed_over_in_place_of_the_pool():
    needs = Needs(("class",), densities=DensityNeeds(n=5, k=2))
    densities = Densities(np.zeros((6, 2, 3), np.float32), {"active_groups": 6})
    kept = replace(problem(), densities=densities).only(needs)
    assert kept.densities is densities
    assert kept.pool is kept.pool_ids is kept.pool_labels is kept.pool_attributes is None
    assert replace(problem(), densities=densities).only(Needs(("class",))).densities is None


@pytest.mark.parametrize(
    ("densities", "message"),
    [
        (None, "needs densities, which are not given"),
        (Densities(np.zeros((6, 3, 2))), r"the densities have the shape \(6, 3, 2\), expected \(6, 2, 3\)"),
        (Densities(np.full((6, 2, 3), np.nan)), "the densities are not numbers"),
    ],
)
def test_densities_that_are_absent_or_malformed_are_refused(densities, message):
    needs = Needs(("class",), densities=DensityNeeds(n=5, k=2))
    with pytest.raises(ValueError, match=message):
        replace(problem(), densities=densities).only(needs)


def test_a_group_without_references_may_be_infinitely_sparse():
    densities = Densities(np.full((6, 2, 3), np.inf))
    needs = Needs((), densities=DensityNeeds(n=5, k=2))
    assert replace(problem(), densities=densities).only(needs).densities is densities


def test_needs_in_full_name_what_densities_are_made_from():
    wanted = DensityNeeds(n=5, k=2)
    assert Needs(("class",), densities=wanted).in_full() == Needs(
        ("class",), pool=True, pool_labels=True, pool_attributes=True
    )
    inferred = Needs(("class", "group"), densities=replace(wanted, groups="inferred"))
    assert inferred.in_full() == Needs(("class", "group", "attribute"), pool=True, pool_labels=True)
    assert ALL.in_full() is ALL
