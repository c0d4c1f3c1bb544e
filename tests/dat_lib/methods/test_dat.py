from dataclasses import replace

import numpy as np
import pytest

from dat_lib.estimator import DATStar
from dat_lib.methods.dat import Dat, DatStar
from dat_lib.methods.support.contract import NotApplicableError, Problem
from dat_lib.methods.support.pool_densities import run_on_pool
from tests.dat_lib.literal import dat_scores, herd_argmin, slof, unit


def problem(seed=0, n=25, n_pool=120, n_classes=2, n_attributes=3, d=6, seed_of_problem=0):
    rng = np.random.default_rng(seed)
    return Problem(
        queries=rng.normal(size=(n, d)) + 2,
        text={
            "class": rng.normal(size=(n_classes, d)) + 2,
            "attribute": rng.normal(size=(n_attributes, d)) + 2,
            "group": rng.normal(size=(n_classes, n_attributes, d)) + 2,
        },
        n_classes=n_classes,
        n_attributes=n_attributes,
        query_ids=np.array([f"q{i}" for i in range(n)]),
        pool=(rng.normal(size=(n_pool, d)) + 2) * rng.uniform(1, 3, size=(n_pool, 1)),
        pool_ids=np.array([f"p{i}" for i in range(n_pool)]),
        pool_labels=np.arange(n_pool) % n_classes,
        pool_attributes=np.arange(n_pool) // n_classes % n_attributes,
        seed=seed_of_problem,
    )


def literal_references(given, n, attributes):
    """The n herded unit vectors of each group; all it has where those are fewer."""

    def of_group(y, a):
        members = unit(given.pool[(given.pool_labels == y) & (attributes == a)])
        return members[herd_argmin(members, n)] if len(members) >= n else members

    return [[of_group(y, a) for a in range(given.n_attributes)] for y in range(given.n_classes)]


def literal_scores(given, references, n, k, strength, terms="both"):
    return [
        dat_scores(
            query, references, unit(given.text["class"]), unit(given.text["group"]), k, strength, n=n, terms=terms
        )
        for query in unit(given.queries)
    ]


@pytest.mark.parametrize("terms", ["both", "group", "average"])
@pytest.mark.parametrize("strength", [1.0, 10.0])
def test_dat_is_algorithm_1(terms, strength):
    given = problem()
    expected = literal_scores(given, literal_references(given, 8, given.pool_attributes), 8, 3, strength, terms)
    prediction = run_on_pool(Dat(n=8, k=3, strength=strength, terms=terms), given)
    np.testing.assert_allclose(prediction.scores, expected, rtol=1e-6)
    np.testing.assert_array_equal(prediction.labels, np.argmax(expected, axis=1))
    assert prediction.notes == {
        "active_groups": 6,
        "dropped_groups": [],
        "queries_among_references": 0,
        "negative_similarity_share": 0.0,
    }


def test_dat_star_infers_the_attributes_of_the_pool():
    given = problem(n_pool=240)
    inferred = np.array([np.argmax([z @ w for w in unit(given.text["attribute"])]) for z in unit(given.pool)])
    references = literal_references(given, 8, inferred)
    expected = literal_scores(given, references, 8, 3, 5.0)
    prediction = run_on_pool(DatStar(n=8, k=3, strength=5.0), replace(given, pool_attributes=None))
    np.testing.assert_allclose(prediction.scores, expected, rtol=1e-6)
    assert prediction.notes["inferred_pool_attributes"] == np.bincount(inferred, minlength=3).tolist()


def test_dat_star_is_the_estimator():
    given = problem(n_pool=240)
    model = DATStar(n=8, k=3, strength=5.0).fit(
        given.pool,
        given.pool_labels,
        class_text=given.text["class"],
        group_text=given.text["group"],
        attribute_text=given.text["attribute"],
    )
    prediction = run_on_pool(DatStar(n=8, k=3, strength=5.0), given)
    np.testing.assert_array_equal(prediction.scores, model.decision_function(given.queries))
    np.testing.assert_array_equal(prediction.labels, model.predict(given.queries))


def test_a_dropped_group_is_noted():
    given = problem()
    few = (given.pool_labels == 1) & (given.pool_attributes == 2)
    keep = ~few | (np.cumsum(few) <= 5)
    given = replace(
        given,
        pool=given.pool[keep],
        pool_ids=given.pool_ids[keep],
        pool_labels=given.pool_labels[keep],
        pool_attributes=given.pool_attributes[keep],
    )
    dropped = run_on_pool(Dat(n=8, k=3), given)
    assert dropped.notes["dropped_groups"] == [{"class": 1, "attribute": 2, "have": 5, "need": 8}]
    assert dropped.notes["active_groups"] == 5
    expected = literal_scores(given, literal_references(given, 8, given.pool_attributes), 8, 3, 10.0)
    np.testing.assert_allclose(dropped.scores, expected, rtol=1e-6)
    used = run_on_pool(Dat(n=8, k=3, shortage="use"), given)
    assert used.notes["dropped_groups"] == []
    assert not np.allclose(used.scores, dropped.scores)


def test_a_class_without_references_leaves_labels_but_no_scores_under_group_terms():
    given = problem()
    keep = given.pool_labels == 0
    given = replace(
        given,
        pool=given.pool[keep],
        pool_ids=given.pool_ids[keep],
        pool_labels=given.pool_labels[keep],
        pool_attributes=given.pool_attributes[keep],
    )
    prediction = run_on_pool(Dat(n=8, k=3, terms="group"), given)
    assert prediction.scores is None
    assert not prediction.labels.any()


def test_a_strength_beyond_floats_still_predicts():
    prediction = run_on_pool(Dat(n=8, k=3, strength=1e5), problem())
    assert prediction.scores is None
    assert prediction.labels.shape == (25,)


def test_a_query_that_is_a_reference_is_not_its_own_neighbour():
    given = problem()
    references = literal_references(given, 8, given.pool_attributes)
    own = next(i for i, z in enumerate(unit(given.pool)) if np.allclose(z, references[0][0][0]))
    asked = replace(given, queries=given.pool[[own]], query_ids=given.pool_ids[[own]])
    prediction = run_on_pool(Dat(n=8, k=3, strength=2.0), asked)
    assert prediction.notes["queries_among_references"] == 1

    def left_out(query, group, k):
        return slof(query, group, k, leave_out=0 if np.allclose(query, group[0]) else None)

    text = unit(given.text["class"]), unit(given.text["group"])
    expected = dat_scores(unit(given.pool)[own], references, *text, 3, 2.0, density=left_out)
    np.testing.assert_allclose(prediction.scores[0], expected, rtol=1e-6)


def test_corruption_exchanges_references_by_the_seed():
    given = problem(n_pool=240)
    clean = run_on_pool(Dat(n=8, k=3), given)
    noisy = run_on_pool(Dat(n=8, k=3, corruption=0.25), given)
    assert not np.allclose(noisy.scores, clean.scores)
    np.testing.assert_array_equal(noisy.scores, run_on_pool(Dat(n=8, k=3, corruption=0.25), given).scores)
    other = run_on_pool(Dat(n=8, k=3, corruption=0.25), replace(given, seed=1))
    assert not np.allclose(noisy.scores, other.scores)
    assert noisy.notes == clean.notes
    np.testing.assert_allclose(run_on_pool(Dat(n=8, k=3, corruption=0.01), given).scores, clean.scores, rtol=1e-9)


def test_random_references_depend_on_the_seed_and_herded_ones_do_not():
    given = problem()
    other = replace(given, seed=1)
    herded, drawn = Dat(n=8, k=3), Dat(n=8, k=3, references="random")
    np.testing.assert_array_equal(run_on_pool(herded, given).scores, run_on_pool(herded, other).scores)
    assert not np.allclose(run_on_pool(drawn, given).scores, run_on_pool(drawn, other).scores)


def test_the_logit_form_takes_the_temperature_of_the_backbone_unless_told():
    given = replace(problem(), logit_scale=20.0)
    own = run_on_pool(Dat(n=8, k=3, score="logit"), given)
    np.testing.assert_allclose(own.scores, run_on_pool(Dat(n=8, k=3, score="logit", temperature=0.05), given).scores)
    assert not np.allclose(own.scores, run_on_pool(Dat(n=8, k=3, score="logit", temperature=0.01), given).scores)


def test_negative_similarities_are_counted():
    given = problem()
    turned = replace(given, text={**given.text, "class": -given.text["class"]})
    share = run_on_pool(Dat(n=8, k=3), turned).notes["negative_similarity_share"]
    assert share == pytest.approx(2 / 8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 56}, "setting k = 56 must be below n = 56"),
        ({"k": 0}, "setting k = 0 must be at least 1"),
        ({"k": 1, "density": "dao"}, "setting k = 1 must be at least 2"),
        ({"strength": -0.5}, r"setting strength = -0\.5 must be at least 0"),
        ({"epsilon": 0.0}, r"setting epsilon = 0\.0 must be above 0"),
        ({"corruption": 1.5}, r"setting corruption = 1\.5 must be at most 1"),
        ({"density": "lof"}, "density = 'lof' .* one of 'slof', 'knn', 'dao'"),
        ({"temperature": 0}, r"setting temperature = 0\.0 must be above 0"),
    ],
)
@pytest.mark.parametrize("method", [Dat, DatStar])
def test_settings_that_cannot_work_are_refused(method, settings, message):
    with pytest.raises(ValueError, match=f"{method.name}: .*{message}"):
        method(**settings)


@pytest.mark.parametrize("method", [Dat, DatStar])
@pytest.mark.parametrize("terms", ["both", "group", "average"])
def test_without_any_group_of_n_references_it_is_not_applicable(method, terms):
    with pytest.raises(NotApplicableError, match="no group has the 90 references that it takes: the largest has"):
        run_on_pool(method(n=90, k=3, terms=terms), problem())


def test_one_group_of_n_references_is_enough_and_the_others_are_told():
    given = problem()
    few = (given.pool_labels == 1) | ((given.pool_attributes > 0) & (np.arange(120) > 20))
    kept = {name: getattr(given, name)[~few] for name in ("pool", "pool_ids", "pool_labels", "pool_attributes")}
    assert len(run_on_pool(Dat(n=15, k=3), replace(given, **kept)).notes["dropped_groups"]) == 5
