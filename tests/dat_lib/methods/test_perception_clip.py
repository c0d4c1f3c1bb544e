import numpy as np
import pytest

from dat_lib.methods.perception_clip import PerceptionClip
from dat_lib.methods.support.contract import Problem, run_method


def problem(seed=0, n=40, n_classes=3, n_contexts=5, d=8, logit_scale=20.0):
    rng = np.random.default_rng(seed)
    return Problem(
        queries=rng.normal(size=(n, d)),
        text={
            "class_context": rng.normal(size=(n_classes, n_contexts, d)),
            "context": rng.normal(size=(n_contexts, d)),
        },
        n_classes=n_classes,
        n_attributes=2,
        query_ids=np.array([f"q{i}" for i in range(n)]),
        logit_scale=logit_scale,
    )


def cosine(u, v):
    return float(u @ v) / float(np.linalg.norm(u) * np.linalg.norm(v))


def literal_posterior(given, infer, temperature):
    """The two steps of the paper, with plain exponentials."""
    w, contexts = given.text["class_context"], given.text["context"]
    result = []
    for z in given.queries:
        f = np.array([[given.logit_scale * cosine(z, v) for v in row] for row in w])
        if infer == "class_attribute":
            weight = np.exp(f / temperature).sum(axis=0)
        else:
            weight = np.exp([given.logit_scale * cosine(z, v) / temperature for v in contexts])
        p_context = weight / weight.sum()
        p_class = np.exp(f) / np.exp(f).sum(axis=0)
        result.append((p_class * p_context).sum(axis=1))
    return np.array(result)


@pytest.mark.parametrize("infer", ["class_attribute", "attribute"])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 5.0])
def test_follows_the_two_steps(infer, temperature):
    given = problem()
    prediction = run_method(PerceptionClip(infer=infer, temperature=temperature), given)
    expected = literal_posterior(given, infer, temperature)
    np.testing.assert_allclose(np.exp(prediction.scores), expected, atol=1e-10)
    np.testing.assert_array_equal(prediction.labels, expected.argmax(axis=1))
    np.testing.assert_allclose(np.exp(prediction.scores).sum(axis=1), 1)
    assert sum(prediction.notes["likeliest_context_counts"]) == len(given.queries)


def test_temperature_one_is_the_joint_softmax_summed_over_contexts():
    given = problem()
    logits = np.array(
        [[given.logit_scale * cosine(z, v) for v in given.text["class_context"].reshape(15, -1)] for z in given.queries]
    )
    joint = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    scores = run_method(PerceptionClip(), given).scores
    np.testing.assert_allclose(np.exp(scores), joint.reshape(-1, 3, 5).sum(axis=2), atol=1e-12)


@pytest.mark.parametrize("infer", ["class_attribute", "attribute"])
def test_a_high_temperature_averages_the_contexts(infer):
    given = problem()
    w = given.text["class_context"]
    f = np.array([[[given.logit_scale * cosine(z, v) for v in row] for row in w] for z in given.queries])
    average = (np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)).mean(axis=2)
    scores = run_method(PerceptionClip(infer=infer, temperature=1e9), given).scores
    np.testing.assert_allclose(np.exp(scores), average, atol=1e-7)


def test_a_large_logit_scale_neither_overflows_nor_vanishes():
    prediction = run_method(PerceptionClip(temperature=0.5), problem(logit_scale=1e4))
    assert np.isfinite(prediction.scores).all()


def test_only_the_pure_attribute_step_reads_context_prompts():
    assert PerceptionClip().needs.text == ("class_context",)
    assert PerceptionClip(infer="attribute").needs.text == ("class_context", "context")


def test_prompts_of_unequal_number_are_refused():
    given = problem()
    text = {**given.text, "context": given.text["context"][:4]}
    with pytest.raises(ValueError, match="4 context prompts for 5 contexts"):
        run_method(PerceptionClip(infer="attribute"), Problem(given.queries, text, 3, 2, given.query_ids))


def test_temperature_must_be_positive():
    with pytest.raises(ValueError, match=r"temperature = 0\.0 must be above 0"):
        PerceptionClip(temperature=0)
