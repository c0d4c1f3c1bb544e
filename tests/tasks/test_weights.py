"""A model is the one whose facts were recorded, or nothing is embedded with it."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

from dat_lib.backbones.backbone import TextVectors
from tasks.step import Work
from tasks.steps import image_embeddings, text_embeddings, weights

RECORDED = {"model": "small", "weights": "0123", "preprocessing": "bicubic"}


@dataclass
class Model:
    """What the steps see of a model before they embed anything."""

    facts: dict[str, str]
    dimension: int = 2
    logit_scale: float = 100.0
    used: list[str] = field(default_factory=list)

    def encode_texts(self, prompts: list[str]) -> TextVectors:
        self.used += prompts
        return TextVectors(np.ones((len(prompts), 2), np.float32))


class NoImages:
    """A dataset without samples."""


def facts_table(facts: dict[str, str]) -> pa.Table:
    """What was recorded of a model, with what is no fact of its loader beside it."""
    recorded = {**facts, "dimension": "2", "logit_scale": "100.0"}
    return pa.table({"fact": list(recorded), "value": list(recorded.values())})


def test_the_same_facts_are_accepted() -> None:
    weights.check_facts(Model(RECORDED), facts_table(RECORDED))


@pytest.mark.parametrize(
    ("now", "named"),
    [
        ({"weights": "4567"}, "weights changed"),
        ({"preprocessing": "bilinear", "weights": "4567"}, "weights, preprocessing changed"),
        ({"tokenizer": "89ab"}, "tokenizer changed"),
    ],
)
def test_other_facts_are_refused_by_name(now: dict[str, str], named: str) -> None:
    with pytest.raises(ValueError, match=f"not the one whose facts were recorded: {named}"):
        weights.check_facts(Model(RECORDED | now), facts_table(RECORDED))


@pytest.fixture
def moved_on(monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model that the hub has replaced since its facts were recorded, in the place of every model."""
    model = Model(RECORDED | {"weights": "4567"})
    for step in (image_embeddings, text_embeddings):
        monkeypatch.setattr(step, "open_backbone", lambda *_: model)
    monkeypatch.setattr(image_embeddings, "open_dataset", lambda *_: NoImages())
    return model


def work(**inputs: pa.Table) -> Work:
    resources = {"device": "cpu", "weights": None, "dataset": {}, "root": None}
    params = {"backbone": {}, "prompts": ["a bird"], "tolerance": 0}
    return Work({"weights": facts_table(RECORDED), **inputs}, params, resources=resources)


def test_no_prompt_is_embedded_with_a_model_that_has_moved_on(moved_on: Model) -> None:
    with pytest.raises(ValueError, match="name its `revision`"):
        text_embeddings.compute(work())
    assert moved_on.used == []


def test_no_image_is_embedded_with_a_model_that_has_moved_on(moved_on: Model) -> None:
    files = pa.table({"sample_id": pa.array([], pa.string()), "file": pa.array([], pa.string())})
    with pytest.raises(ValueError, match="name its `revision`"):
        list(image_embeddings.compute(work(files=files)).shards)


def test_a_model_of_another_dimension_than_its_spec_says_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "open_backbone", lambda *_: Model(RECORDED))
    with pytest.raises(ValueError, match="the model has 2 dimensions, its spec says 3"):
        weights.compute(Work({}, {"dimension": 3}, resources={"weights": None}))
    table = weights.compute(Work({}, {"dimension": None}, resources={"weights": None})).table
    assert table.equals(facts_table(RECORDED))
