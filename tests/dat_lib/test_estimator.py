import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.estimator import DAT, DATStar, DroppedGroupWarning
from dat_lib.herding import herd
from tests.dat_lib.literal import dat_logits, dat_scores, slof, unit


def problem(seed=0, sizes=((8, 7), (6, 9), (7, 7)), dim=10, queries=6, dtype=np.float64, lift=1.0):
    """A pool with `sizes[y][a]` samples a group, prompts and queries; `lift` makes cosines mostly positive."""
    rng = np.random.default_rng(seed)
    shape = np.shape(sizes)
    labels, attributes = np.transpose([g for g in np.ndindex(shape) for _ in range(sizes[g[0]][g[1]])])
    pool = (rng.normal(size=(len(labels), dim)) + lift) * rng.uniform(1, 9, (len(labels), 1))
    return {
        "pool": pool.astype(dtype),
        "labels": labels,
        "attributes": attributes,
        "class_text": rng.normal(size=(shape[0], dim)) + lift,
        "group_text": rng.normal(size=(*shape, dim)) + lift,
        "queries": (rng.normal(size=(queries, dim)) + lift).astype(dtype) * 3,
    }


def fit(model, p, **changes):
    arguments = {name: p[name] for name in ("labels", "attributes", "class_text", "group_text")} | changes
    return model.fit(p["pool"], **arguments)


def literal_references(p, n, shortage="drop", k=0):
    """references[y][a]: herded unit vectors; a group that is too small is empty."""
    K, M = p["group_text"].shape[:2]
    references = [[[] for _ in range(M)] for _ in range(K)]
    for y, a in np.ndindex(K, M):
        members = unit(p["pool"][(p["labels"] == y) & (p["attributes"] == a)])
        if len(members) >= n or (shortage == "use" and len(members) > k):
            references[y][a] = members[herd(members, min(n, len(members)))]
    return references


@pytest.mark.parametrize("terms", ["both", "group", "average"])
@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 999), strength=st.sampled_from([1.0, 10.0]))
def test_scores_are_those_of_algorithm_1(terms, seed, strength):
    p = problem(seed)
    model = fit(DAT(n=6, k=3, strength=strength, terms=terms), p)
    references = literal_references(p, 6)
    expected = [
        dat_scores(z, references, unit(p["class_text"]), unit(p["group_text"]), 3, strength, n=6, terms=terms)
        for z in unit(p["queries"])
    ]
    np.testing.assert_allclose(model.decision_function(p["queries"]), expected, rtol=1e-8)
    assert model.predict(p["queries"]).tolist() == np.argmax(expected, axis=1).tolist()


@pytest.mark.parametrize("terms", ["both", "group", "average"])
def test_logit_scores_are_those_of_the_theory(terms):
    p = problem(3)
    model = fit(DAT(n=6, k=3, strength=2.0, score="logit", terms=terms, temperature=0.05), p)
    references = literal_references(p, 6)
    expected = [
        dat_logits(z, references, unit(p["class_text"]), unit(p["group_text"]), 3, 2.0, 0.05, terms=terms)
        for z in unit(p["queries"])
    ]
    np.testing.assert_allclose(model.decision_function(p["queries"]), expected, rtol=1e-8)


def test_a_short_group_scores_nothing_and_is_reported():
    p = problem(1, sizes=((8, 5), (6, 9)))
    with pytest.warns(DroppedGroupWarning, match=r"1 of 4 groups .* can never win: \(0, 1\) has 5 of 6"):
        model = fit(DAT(n=6, k=3), p)
    assert [(g.label, g.attribute, g.have, g.need) for g in model.dropped_groups_] == [(0, 1, 5, 6)]
    references = literal_references(p, 6)
    expected = [
        dat_scores(z, references, unit(p["class_text"]), unit(p["group_text"]), 3, 10.0, n=6)
        for z in unit(p["queries"])
    ]
    np.testing.assert_allclose(model.decision_function(p["queries"]), expected, rtol=1e-8)
    assert model.report_.dropped_groups == model.dropped_groups_


def test_a_short_group_is_used_when_asked():
    p = problem(1, sizes=((8, 5), (6, 9)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(DAT(n=6, k=3, shortage="use"), p)
    references = literal_references(p, 6, "use", 3)
    assert len(references[0][1]) == 5
    expected = [
        dat_scores(z, references, unit(p["class_text"]), unit(p["group_text"]), 3, 10.0) for z in unit(p["queries"])
    ]
    np.testing.assert_allclose(model.decision_function(p["queries"]), expected, rtol=1e-8)


def test_without_any_references_class_prompts_decide():
    p = problem(1, sizes=((2, 2), (2, 2)))
    with pytest.warns(DroppedGroupWarning, match="4 of 4 groups"):
        model = fit(DAT(n=6, k=3), p)
    zero_shot = unit(p["queries"]) @ unit(p["class_text"]).T
    np.testing.assert_allclose(model.decision_function(p["queries"]), zero_shot / 3)
    with pytest.raises(ValueError, match="terms='group' has nothing else to go by"):
        fit(DAT(n=6, k=3, terms="group"), p)


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 3), (5, 4)])
def test_any_number_of_classes_and_attributes(shape):
    p = problem(0, sizes=np.full(shape, 7))
    model = fit(DAT(n=6, k=3), p)
    assert model.decision_function(p["queries"]).shape == (6, shape[0])
    assert model.classes_.tolist() == list(range(shape[0]))


def test_a_query_that_is_a_reference_is_known_by_its_id():
    p = problem(2, sizes=((8, 8), (8, 8)))
    ids = np.array([f"s{i}" for i in range(32)])
    model = fit(DAT(n=8, k=3, strength=1.0, terms="group"), p, sample_ids=ids)
    aware = model.decision_function(p["pool"], sample_ids=ids)
    blind = model.decision_function(p["pool"])
    strangers = model.decision_function(p["pool"], sample_ids=np.array([f"t{i}" for i in range(32)]))
    np.testing.assert_array_equal(blind, strangers)
    assert not np.allclose(aware, blind)
    references = unit(p["pool"])[model.references_.positions].reshape(2, 2, 8, -1)
    rows = model.references_.positions.reshape(2, 2, 8)
    for i in (0, 9, 31):
        z = unit(p["pool"][i])
        for y in range(2):
            terms = []
            for a in range(2):
                itself = np.flatnonzero(rows[y, a] == i)
                density = slof(z, references[y, a], 3, leave_out=itself[0] if len(itself) else None)
                terms.append(z @ unit(p["group_text"][y, a]) / (density + 1e-8))
            assert aware[i, y] == pytest.approx(max(terms))


def test_negative_similarities_are_reported():
    p = problem(0, lift=0.0, queries=40)
    model = fit(DAT(n=6, k=3), p)
    model.predict(p["queries"])
    of_group = np.einsum("nd,kmd->nkm", unit(p["queries"]), unit(p["group_text"]))
    of_class = unit(p["queries"]) @ unit(p["class_text"]).T
    assert model.report_.queries == 40
    assert model.report_.negative == (of_group < 0).sum() + (of_class < 0).sum()
    assert 0 < model.report_.negative_share < 1


def test_blocks_of_queries_give_the_same_bits():
    p = problem(0, sizes=np.full((3, 2), 30), dim=70, queries=300, dtype=np.float32)
    model = fit(DAT(n=20, k=5), p)
    small = fit(DAT(n=20, k=5, working_memory=0.1), p)
    whole = model.decision_function(p["queries"])
    for step in (1, 37, 300):
        shown = p["queries"][: 40 if step == 1 else None]
        parts = [small.decision_function(shown[i : i + step]) for i in range(0, len(shown), step)]
        np.testing.assert_array_equal(np.concatenate(parts), whole[: len(shown)])


@pytest.mark.parametrize("density", ["slof", "knn", "dao"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_single_precision_predicts_what_double_precision_does(density, metric):
    p = problem(0, sizes=np.full((3, 2), 30), dim=70, queries=200, dtype=np.float32)
    wide = {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in p.items()}
    options = {"n": 20, "k": 5, "density": density, "metric": metric, "strength": 2.0}
    single, double = fit(DAT(**options), p), fit(DAT(**options), wide)
    np.testing.assert_allclose(
        single.decision_function(p["queries"]), double.decision_function(wide["queries"]), rtol=1e-3
    )
    assert np.array_equal(single.predict(p["queries"]), double.predict(wide["queries"]))


def test_the_star_infers_what_it_is_not_told():
    p = problem(0, sizes=np.full((2, 2), 20), queries=30)
    attribute_text = np.random.default_rng(9).normal(size=(2, 10)) + 1
    star = DATStar(n=5, k=3, shortage="use").fit(
        p["pool"],
        p["labels"],
        class_text=p["class_text"],
        group_text=p["group_text"],
        attribute_text=attribute_text,
    )
    inferred = (unit(p["pool"]) @ unit(attribute_text).T).argmax(axis=1)
    assert star.inferred_.attributes.tolist() == inferred.tolist()
    told = fit(DAT(n=5, k=3, shortage="use"), p, attributes=inferred)
    np.testing.assert_array_equal(star.decision_function(p["queries"]), told.decision_function(p["queries"]))


@pytest.mark.parametrize("kind", [DAT, DATStar])
def test_scikit_learn_can_clone_and_set_it(kind):
    from sklearn.base import clone

    model = kind(n=7, k=2, density="dao", lid="mom", working_memory=3)
    copy = clone(model)
    assert type(copy) is kind
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert copy.get_params()["lid"] == "mom"
    assert copy.set_params(k=4, strength=1.0) is copy
    assert (copy.k, copy.strength, model.k) == (4, 1.0, 2)
    assert repr(kind()) == f"{kind.__name__}()"
    assert repr(copy) == f"{kind.__name__}(n=7, k=4, strength=1.0, density='dao', lid='mom', working_memory=3)"
    with pytest.raises(ValueError, match="has no parameter 'lambda_': it has n, k, strength"):
        copy.set_params(lambda_=3)


def test_parameters_are_untouched_until_fit_and_by_fit():
    odd = np.float32(3.5)
    model = DAT(n=6, k=3, strength=odd)
    assert model.strength is odd
    fit(model, problem())
    assert model.strength is odd
    assert not [name for name in vars(DAT(n=6, k="no")) if name.endswith("_")]


def test_a_fitted_model_can_be_stored():
    p = problem()
    model = fit(DAT(n=6, k=3), p)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.decision_function(p["queries"]), model.decision_function(p["queries"]))


def test_fit_returns_the_model_and_comes_before_predict():
    model = DAT(n=6, k=3)
    with pytest.raises(AttributeError, match="this DAT is not fitted yet: call fit first"):
        model.predict(np.ones((1, 10)))
    assert fit(model, problem()) is model


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 6}, "k=6 neighbours need more than k references per group, but n=6"),
        ({"k": 0}, "k must be at least 1 for slof, not 0"),
        ({"density": "lof"}, "density must be one of slof, knn, dao, not 'lof'"),
        ({"terms": "max"}, "terms must be one of"),
        ({"score": "log"}, "score must be one of"),
        ({"shortage": "pad"}, "shortage must be one of"),
        ({"sampling": "all"}, "sampling must be one of"),
        ({"metric": "l1"}, "metric must be one of"),
        ({"strength": float("nan")}, "strength must be finite"),
        ({"epsilon": -1}, "epsilon must be finite and positive"),
    ],
)
def test_wrong_settings_are_refused_by_fit(settings, message):
    with pytest.raises(ValueError, match=message):
        fit(DAT(**{"n": 6, "k": 3, **settings}), problem())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.zeros(3, int)}, "labels has 3 entries where 44 are needed"),
        ({"labels": np.full(44, 3)}, "labels must lie in 0..2, but holds 3"),
        ({"attributes": np.full(44, 2)}, "attributes must lie in 0..1, but holds 2"),
        ({"class_text": np.ones((2, 10))}, "class_text has 2 classes and group_text has 3"),
        ({"class_text": np.ones((3, 9))}, "class_text has vectors of dimension 9 where 10 is needed"),
        ({"group_text": np.ones((3, 10))}, "group_text must have 3 axes"),
        ({"sample_ids": ["a"]}, r"sample_ids has the shape \(1,\)"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        fit(DAT(n=6, k=3), problem(), **changes)


def test_queries_that_do_not_fit_are_refused():
    model = fit(DAT(n=6, k=3), problem())
    with pytest.raises(ValueError, match="queries has vectors of dimension 9 where 10 is needed"):
        model.predict(np.ones((1, 9)))
    with pytest.raises(ValueError, match="queries is zero, so it has no direction, at position 1"):
        model.predict(np.concatenate([np.ones((1, 10)), np.zeros((1, 10))]))
    with pytest.raises(ValueError, match="queries is not finite at position 0"):
        model.predict(np.full((1, 10), np.nan))
