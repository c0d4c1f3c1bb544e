"""Predictions of one method for the test samples. The method is given what it says it needs and nothing else."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dat_lib.methods.contract import Method, Prediction, Problem, run_method
from dat_lib.methods.registry import make_method
from tasks.columns import integers, texts, vectors_of
from tasks.step import Output, Work

Array = npt.NDArray[Any]


def compute(work: Work) -> Output:
    """Return one row a test sample, with its true class and attribute beside the prediction."""
    params = work.params
    method = make_method(params["method"], params["settings"])
    samples, left_out = _embedded_samples(work)
    split = texts(samples, "split")
    test = split == "test"
    if not test.any():
        raise ValueError("the dataset has no test samples")
    pool = split == params.get("pool_split")
    prediction = run_method(method, _problem(work, method, samples, test, pool))
    chosen = samples.filter(pa.array(test))
    table = pa.table(
        {
            "sample_id": chosen.column("sample_id"),
            "label": chosen.column("label"),
            "attribute": chosen.column("attribute"),
            "prediction": pa.array(prediction.labels.astype(np.int32)),
            "margin": pa.array(_margin(prediction), pa.float64()),
        }
    )
    ids = texts(samples, "sample_id")
    shared = int(np.isin(ids[test], ids[pool]).sum()) if method.needs.pool else 0
    overlap = {"test_samples_in_pool": shared} if shared else {}
    return Output(table, {"notes": {**prediction.notes, **left_out, **overlap}})


def _embedded_samples(work: Work) -> tuple[pa.Table, dict[str, Any]]:
    """Return the samples that have an embedding, in the order of the embeddings, and a note on those that have none.

    Embeddings may lack the few images that were unreadable and tolerated.
    """
    samples = work.inputs["samples"]
    embedded = np.isin(texts(samples, "sample_id"), texts(work.inputs["image_embeddings"], "sample_id"))
    kept = samples.filter(pa.array(embedded))
    if not kept.column("sample_id").equals(work.inputs["image_embeddings"].column("sample_id")):
        raise ValueError("the image embeddings are not those of the dataset's samples")
    if embedded.all():
        return kept, {}
    splits, counts = np.unique(texts(samples, "split")[~embedded], return_counts=True)
    return kept, {"samples_without_embedding": dict(zip(splits.tolist(), counts.tolist(), strict=True))}


def _problem(work: Work, method: Method, samples: pa.Table, test: Array, pool: Array) -> Problem:
    params, needs = work.params, method.needs
    images = vectors_of(work.inputs["image_embeddings"])
    ids = texts(samples, "sample_id")
    if needs.pool and not pool.any():
        raise ValueError(f"{method.name} needs images of the split {params['pool_split']}, which has none")
    return Problem(
        queries=images[test],
        query_ids=ids[test],
        text=_text(params["text"], work.inputs["text_embeddings"]),
        n_classes=params["n_classes"],
        n_attributes=params["n_attributes"],
        query_attributes=integers(samples, "attribute")[test] if needs.test_attributes else None,
        pool=images[pool] if needs.pool else None,
        pool_ids=ids[pool] if needs.pool else None,
        pool_labels=integers(samples, "label")[pool] if needs.pool_labels else None,
        pool_attributes=integers(samples, "attribute")[pool] if needs.pool_attributes else None,
        logit_scale=_logit_scale(work),
        seed=params["seed"],
        device=work.resources.get("device", "cpu"),
    )


def _logit_scale(work: Work) -> float:
    """Return the model's own, or for embeddings without a model at hand the one its spec says."""
    if "weights" not in work.inputs:
        return float(work.params["logit_scale"])
    facts = dict(zip(*work.inputs["weights"].to_pydict().values(), strict=True))
    return float(facts["logit_scale"])


def _text(roles: Mapping[str, Any], table: pa.Table) -> dict[str, Array]:
    """Return {role: [..., d]}: each prompt replaced by its vector, variants by the mean of their unit vectors."""
    vectors = dict(zip(table.column("prompt").to_pylist(), vectors_of(table), strict=True))

    def embed(text: Any) -> Array:
        if isinstance(text, str):
            return np.asarray(vectors[text])
        if isinstance(text, Mapping):
            units = [vectors[variant] / np.linalg.norm(vectors[variant]) for variant in text["variants"]]
            return np.asarray(np.mean(units, axis=0, dtype=np.float64), dtype=np.float32)
        return np.stack([embed(part) for part in text])

    return {role: embed(text) for role, text in roles.items()}


def _margin(prediction: Prediction) -> Array | list[None]:
    """Return by how much the best score exceeds the second."""
    if prediction.scores is None:
        return [None] * len(prediction.labels)
    ordered = np.sort(prediction.scores.astype(np.float64), axis=1)
    return ordered[:, -1] - ordered[:, -2]
