from dataclasses import replace

import numpy as np
import pytest

from dat_lib.methods.mean_centering import GroupPromptCentred, ZeroShotCentred
from dat_lib.methods.support.contract import NotApplicableError, Problem, run_method


def problem(seed=0, n=50, n_pool=70, n_classes=2, n_attributes=3, d=8):
    rng = np.random.default_rng(seed)
    return Problem(
        queries=rng.normal(size=(n, d)) + 1,
        text={
            "class": rng.normal(size=(n_classes, d)) + 2,
            "group": rng.normal(size=(n_classes, n_attributes, d)) + 2,
            "caption": rng.normal(size=(11, d)) + 2,
        },
        n_classes=n_classes,
        n_attributes=n_attributes,
        query_ids=np.array([f"q{i}" for i in range(n)]),
        pool=rng.normal(size=(n_pool, d)) + 1,
        pool_ids=np.array([f"p{i}" for i in range(n_pool)]),
    )


def unit(v):
    return v / np.linalg.norm(v)


def literal(given, prompts, bank):
    image_mean = sum(unit(z) for z in given.pool) / len(given.pool)
    text_mean = sum(unit(w) for w in bank) / len(bank)
    return np.array([[unit(unit(z) - image_mean) @ unit(unit(w) - text_mean) for w in prompts] for z in given.queries])


@pytest.mark.parametrize("text_mean", ["prompts", "caption"])
def test_centred_zero_shot(text_mean):
    given = problem(n_classes=4)
    bank = given.text["class"] if text_mean == "prompts" else given.text["caption"]
    expected = literal(given, given.text["class"], bank)
    prediction = run_method(ZeroShotCentred(text_mean=text_mean), given)
    np.testing.assert_allclose(prediction.scores, expected, atol=1e-12)
    assert prediction.notes == {"image_mean": "pool", "text_mean": text_mean}


@pytest.mark.parametrize("text_mean", ["prompts", "caption"])
def test_centred_group_prompt(text_mean):
    given = problem()
    prompts = given.text["group"].reshape(6, -1)
    bank = prompts if text_mean == "prompts" else given.text["caption"]
    expected = literal(given, prompts, bank).reshape(-1, 2, 3).max(axis=2)
    prediction = run_method(GroupPromptCentred(text_mean=text_mean), given)
    np.testing.assert_allclose(prediction.scores, expected, atol=1e-12)


def test_with_two_classes_it_is_a_shift_of_the_threshold():
    given = problem(n=400)
    image_mean = np.mean([unit(z) for z in given.pool], axis=0)
    difference = unit(given.text["class"][1]) - unit(given.text["class"][0])
    margins = np.array([unit(z) @ difference for z in given.queries])
    expected = margins > image_mean @ difference
    np.testing.assert_array_equal(run_method(ZeroShotCentred(), given).labels, expected)


def test_captions_are_read_only_where_they_give_the_mean():
    assert ZeroShotCentred().needs.text == ("class",)
    assert GroupPromptCentred(text_mean="caption").needs.text == ("group", "caption")


def test_an_empty_pool_makes_it_not_applicable():
    given = problem(n_pool=0)
    with pytest.raises(NotApplicableError, match="pool is empty"):
        run_method(ZeroShotCentred(), given)


def test_equal_prompts_have_no_direction_left():
    given = problem()
    same = replace(given, text={"class": np.ones((2, 8))})
    with pytest.raises(NotApplicableError, match="nothing remains of 2 of 2 centred prompts"):
        run_method(ZeroShotCentred(), same)
