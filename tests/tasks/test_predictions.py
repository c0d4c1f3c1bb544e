"""Which images and vectors a method is given."""

import numpy as np
import pyarrow as pa
import pytest

from dat_lib.applicability import NotApplicableError
from dat_lib.methods import registry
from dat_lib.methods.support import contract
from data_catalog.home import Home
from data_catalog.specs.collection import Specs
from tasks.graph.experiments import Experiment
from tasks.graph.graph import Graph
from tasks.step import Work
from tasks.steps import predictions
from tasks.tables.columns import vector_column

SPLITS = ["train"] * 4 + ["val"] * 3 + ["test"] * 2


def work(method: str, **params: object) -> Work:
    rows = len(SPLITS)
    ids = [f"s{row}" for row in range(rows)]
    vectors = np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)
    samples = {"sample_id": ids, "split": SPLITS, "label": [0, 1] * 4 + [0], "attribute": [0] * rows}
    prompts = {"prompt": ["a", "b", "c"], "embedding": vector_column(np.eye(3, dtype=np.float32) * 2)}
    return Work(
        inputs={
            "samples": pa.table(samples),
            "image_embeddings": pa.table({"sample_id": ids, "embedding": vector_column(vectors)}),
            "text_embeddings": pa.table(prompts),
        },
        params={
            "method": method,
            "settings": {},
            "text": {"class": ["a", "b"]},
            "n_classes": 2,
            "n_attributes": 1,
            "logit_scale": 100.0,
            "seed": 0,
            **params,
        },
    )


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[contract.Problem]:
    problems: list[contract.Problem] = []
    run = predictions.run_method

    def spy(method: contract.Method, problem: contract.Problem) -> contract.Prediction:
        problems.append(problem)
        return run(method, problem)

    monkeypatch.setattr(predictions, "run_method", spy)
    return problems


def test_queries_are_the_test_split_and_a_method_without_needs_gets_no_more(seen) -> None:
    table = predictions.compute(work("zero_shot")).table
    (problem,) = seen
    assert problem.query_ids.tolist() == table.column("sample_id").to_pylist() == ["s7", "s8"]
    assert problem.pool is problem.pool_labels is problem.pool_attributes is problem.query_attributes is None


@pytest.mark.parametrize(("split", "expected"), [("train", ["s0", "s1", "s2", "s3"]), ("val", ["s4", "s5", "s6"])])
def test_the_pool_is_the_split_that_the_cell_names(seen, split, expected) -> None:
    predictions.compute(work("zero_shot_centred", pool_split=split))
    assert seen[0].pool_ids.tolist() == expected
    assert seen[0].pool_labels is None


def test_without_a_pool_it_is_not_applicable_and_the_split_is_named() -> None:
    with pytest.raises(NotApplicableError, match="needs images of the split nowhere, which has none"):
        predictions.compute(work("zero_shot_centred", pool_split="nowhere"))


def test_test_samples_that_are_in_the_pool_are_counted() -> None:
    given = work("zero_shot_centred", pool_split="train")
    assert "test_samples_in_pool" not in predictions.compute(given).summary["notes"]
    leaky = {role: _renamed(table, "s8", "s0") for role, table in given.inputs.items()}
    notes = predictions.compute(Work(leaky, given.params)).summary["notes"]
    assert notes["test_samples_in_pool"] == 1


def _renamed(table: pa.Table, old: str, new: str) -> pa.Table:
    if "sample_id" not in table.column_names:
        return table
    ids = [new if name == old else name for name in table.column("sample_id").to_pylist()]
    return table.set_column(0, "sample_id", [ids])


def test_samples_without_an_embedding_are_left_out_and_counted() -> None:
    given = work("zero_shot")
    fewer = {**given.inputs, "image_embeddings": given.inputs["image_embeddings"].slice(0, 8)}
    output = predictions.compute(Work(fewer, given.params))
    assert output.table.column("sample_id").to_pylist() == ["s7"]
    assert output.summary["notes"]["samples_without_embedding"] == {"test": 1}


def test_variants_become_the_mean_of_their_unit_vectors(seen) -> None:
    predictions.compute(work("zero_shot", text={"class": [{"variants": ["a", "b"]}, "c"]}))
    np.testing.assert_allclose(seen[0].text["class"], [[0.5, 0.5, 0], [0, 0, 2]])


def test_tie_takes_its_scale_from_train_where_dat_takes_references_from_val(tmp_path) -> None:
    for kind in ("datasets", "backbones"):
        (tmp_path / kind).mkdir()
    (tmp_path / "datasets/faces.toml").write_text(
        'prompts = "simbirds"\nreference_split = "val"\n[source]\nkind = "simulated"\n'
    )
    shipped = Specs.from_environment(Home(tmp_path / "home")).folders[0]
    cells = Graph(Specs((shipped, tmp_path))).cells(
        Experiment("faces", "simclip", method) for method in ("tie", "dat", "zero_shot", "zero_shot_whitened")
    )
    splits = {cell.address["method"]: cell.params.get("pool_split") for cell in cells if cell.step == "predictions"}
    assert splits == {"tie": "train", "dat": "val", "zero_shot": None, "zero_shot_whitened": "train"}
    behind = {cell.step: cell.params["pool_split"] for cell in cells if cell.step in ("references", "densities")}
    assert behind == {"references": "val", "densities": "val"}


def test_every_method_can_be_asked_for_its_needs_without_heavy_libraries() -> None:
    for name in registry.method_names():
        assert isinstance(registry.make_method(name).needs, contract.Needs)
