"""Every method reads exactly what it declares: nothing more, by poisoned input, and nothing less, by changed input."""

from dataclasses import replace

import numpy as np
import pytest

from dat_lib.methods.registry import make_method, method_names
from dat_lib.methods.support.contract import DensityNeeds, Needs, Problem
from dat_lib.methods.support.pool_densities import run_on_pool

SMALL = {"n": 12, "k": 3}
VARIANTS = [
    ("orth_cali", {"strength": 0.0}),
    ("perception_clip", {"infer": "attribute"}),
    ("roboshot", {"variant": "reject"}),
    ("roboshot", {"variant": "accept"}),
    ("zero_shot_centred", {"text_mean": "caption"}),
    ("group_prompt_centred", {"text_mean": "caption"}),
]
CASES = [*((name, {}) for name in method_names()), *VARIANTS]
DECLARED = {
    "zero_shot": Needs(("class",), one_by_one=True),
    "group_prompt": Needs(("group",), one_by_one=True),
    "ideal_words": Needs(("group",), one_by_one=True),
    "orth_cali": Needs(("class", "spurious", "candidate"), one_by_one=True),
    "orth_proj": Needs(("class", "spurious"), one_by_one=True),
    "perception_clip": Needs(("class_context",), one_by_one=True),
    "roboshot": Needs(("class", "reject", "accept"), one_by_one=True),
    "tie": Needs(("class", "attribute"), test_attributes=True, pool=True, pool_attributes=True, pool_split="train"),
    "tie_star": Needs(("class", "attribute"), pool=True, pool_split="train"),
    "zero_shot_centred": Needs(("class",), pool=True, pool_split="train"),
    "group_prompt_centred": Needs(("group",), pool=True, pool_split="train"),
    "zero_shot_whitened": Needs(("class",), pool=True, pool_split="train"),
    "group_prompt_whitened": Needs(("group",), pool=True, pool_split="train"),
    "dat": Needs(("class", "group"), densities=DensityNeeds(n=56, k=10), one_by_one=True),
    "dat_star": Needs(("class", "group"), densities=DensityNeeds(n=56, k=10, groups="inferred"), one_by_one=True),
    "dat_auto": Needs(("class", "group"), pool=True, pool_labels=True, pool_attributes=True),
    "nearest_class_mean": Needs((), pool=True, pool_labels=True, pool_attributes=True),
    "knn_vote": Needs((), pool=True, pool_labels=True, pool_attributes=True),
    "density_only": Needs((), densities=DensityNeeds(n=56, k=10), one_by_one=True),
}


class Explosive:
    """Raises on any access."""

    def __getattribute__(self, name):
        raise AssertionError(f"a method touched what it does not need (by .{name})")


def world(seed=0, n=80, n_pool=160, d=16):
    """Images around class plus attribute directions, so that every input has a say in the predictions."""
    rng = np.random.default_rng(seed)
    classes, attributes, base = rng.normal(size=(2, d)), rng.normal(size=(2, d)), rng.normal(size=d)

    def images(labels, spurious):
        return (base + classes[labels] + attributes[spurious] + rng.normal(size=(len(labels), d))) * 3

    def text(*shape):
        return base + rng.normal(size=(*shape, d))

    labels, spurious = rng.integers(2, size=(2, n))
    pool_labels, pool_spurious = np.arange(n_pool) % 2, np.arange(n_pool) // 2 % 2
    return Problem(
        queries=images(labels, spurious).astype(np.float32),
        text={
            "class": text(2) + classes,
            "attribute": text(2) + attributes,
            "group": text(2, 2) + classes[:, None] + attributes,
            "spurious": text(3),
            "candidate": text(2, 3),
            "class_context": text(2, 4) + classes[:, None],
            "context": text(4),
            "reject": text(3, 2),
            "accept": text(2, 2),
            "caption": text(7),
        },
        n_classes=2,
        n_attributes=2,
        query_ids=np.array([f"q{i}" for i in range(n)]),
        query_attributes=spurious,
        pool=images(pool_labels, pool_spurious).astype(np.float32),
        pool_ids=np.array([f"p{i}" for i in range(n_pool)]),
        pool_labels=pool_labels,
        pool_attributes=pool_spurious,
        logit_scale=10.0,
    )


def made(name, settings):
    fields = type(make_method(name)).__dataclass_fields__
    return make_method(name, {**{key: value for key, value in SMALL.items() if key in fields}, **settings})


def poisoned(given, needs, poison):
    """`given` with everything that `needs` does not list replaced by what `poison` makes of it."""
    hidden = {
        "query_attributes": needs.test_attributes,
        "pool": needs.pool,
        "pool_ids": needs.pool,
        "pool_labels": needs.pool_labels,
        "pool_attributes": needs.pool_attributes,
    }
    text = {role: vectors if role in needs.text else poison(vectors) for role, vectors in given.text.items()}
    changes = {name: poison(getattr(given, name)) for name, needed in hidden.items() if not needed}
    return replace(given, text=text, **changes)


def nonsense(values):
    if np.issubdtype(values.dtype, np.floating):
        return np.full(values.shape, np.nan, values.dtype)
    return np.full(values.shape, "poison" if values.dtype.kind == "U" else -999)


def as_tuple(prediction):
    scores = None if prediction.scores is None else prediction.scores.tolist()
    return prediction.labels.tolist(), scores, dict(prediction.notes)


@pytest.mark.parametrize(("name", "settings"), CASES)
@pytest.mark.parametrize("poison", [nonsense, lambda values: Explosive()], ids=["nonsense", "explosive"])
def test_poison_in_what_a_method_does_not_need_changes_nothing(name, settings, poison):
    method, given = made(name, settings), world()
    assert as_tuple(run_on_pool(method, poisoned(given, method.needs.in_full(), poison))) == as_tuple(
        run_on_pool(method, given)
    )


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_a_method_is_handed_none_of_what_it_does_not_need(name, settings):
    needs = made(name, settings).needs.in_full()
    kept = poisoned(world(), needs, lambda values: Explosive()).only(needs)
    assert set(kept.text) == set(needs.text)
    assert (kept.query_attributes is not None) == needs.test_attributes
    assert (kept.pool is not None) == (kept.pool_ids is not None) == needs.pool
    assert (kept.pool_labels is not None) == needs.pool_labels
    assert (kept.pool_attributes is not None) == needs.pool_attributes


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_the_needs_are_those_of_the_published_method(name):
    assert make_method(name).needs == DECLARED[name]


def test_no_method_but_tie_reads_the_attributes_of_the_test_images():
    assert [name for name in method_names() if make_method(name).needs.test_attributes] == ["tie"]


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_everything_a_method_needs_has_a_say(name, settings):
    method, given = made(name, settings), world()
    needs = method.needs.in_full()
    before = as_tuple(run_on_pool(method, given))[:2]
    rng = np.random.default_rng(5)

    def shaken(vectors):
        return vectors + rng.normal(size=vectors.shape).astype(vectors.dtype)

    changes = {
        "query_attributes": (needs.test_attributes, lambda values: 1 - values),
        "pool": (needs.pool, shaken),
        "pool_labels": (needs.pool_labels, rng.permutation),
        "pool_attributes": (needs.pool_attributes, rng.permutation),
    }
    for field, (needed, change) in changes.items():
        if needed:
            changed = replace(given, **{field: change(getattr(given, field))})
            assert as_tuple(run_on_pool(method, changed))[:2] != before, field
    for role in needs.text:
        changed = replace(given, text={**given.text, role: shaken(given.text[role])})
        assert as_tuple(run_on_pool(method, changed))[:2] != before, role


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_predictions_are_repeatable_and_leave_the_input_alone(name, settings):
    method, given = made(name, settings), world()
    first = as_tuple(run_on_pool(method, given))
    assert as_tuple(run_on_pool(method, given)) == first
    untouched = world()
    np.testing.assert_array_equal(given.queries, untouched.queries)
    np.testing.assert_array_equal(given.pool, untouched.pool)
    for role, vectors in untouched.text.items():
        np.testing.assert_array_equal(given.text[role], vectors)
