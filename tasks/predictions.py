"""Predictions of one method for the test samples. The method is given what it says it needs and nothing else."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dat_lib.arrays import IdArray
from dat_lib.methods.contract import Densities, DensityNeeds, Method, Prediction, Problem, run_method
from dat_lib.methods.registry import make_method
from dat_lib.reference_sets import reference_notes
from tasks.columns import integers, texts, vectors_of
from tasks.embedded import embedded_samples
from tasks.logit_scales import logit_scale
from tasks.prompt_vectors import prompt_vectors
from tasks.reference_table import references_of
from tasks.step import Output, Work

Array = npt.NDArray[Any]


def compute(work: Work) -> Output:
    """Return one row a test sample, with its true class and attribute beside the prediction."""
    params = work.params
    method = make_method(params["method"], params["settings"])
    samples, left_out = embedded_samples(work)
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
    shared = int(np.isin(ids[test], ids[pool]).sum()) if method.needs.in_full().pool else 0
    overlap = {"test_samples_in_pool": shared} if shared else {}
    return Output(table, {"notes": {**prediction.notes, **left_out, **overlap}})


def _problem(work: Work, method: Method, samples: pa.Table, test: Array, pool: Array) -> Problem:
    params, needs = work.params, method.needs
    images = vectors_of(work.inputs["image_embeddings"])
    ids = texts(samples, "sample_id")
    if needs.pool and not pool.any():
        raise ValueError(f"{method.name} needs images of the split {params['pool_split']}, which has none")
    return Problem(
        queries=images[test],
        query_ids=ids[test],
        text=prompt_vectors(params["text"], work.inputs["text_embeddings"]),
        n_classes=params["n_classes"],
        n_attributes=params["n_attributes"],
        query_attributes=integers(samples, "attribute")[test] if needs.test_attributes else None,
        pool=images[pool] if needs.pool else None,
        pool_ids=ids[pool] if needs.pool else None,
        pool_labels=integers(samples, "label")[pool] if needs.pool_labels else None,
        pool_attributes=integers(samples, "attribute")[pool] if needs.pool_attributes else None,
        densities=_densities(work, needs.densities, ids[test], pool) if needs.densities is not None else None,
        logit_scale=logit_scale(work),
        seed=params["seed"],
        device=work.resources.get("device", "cpu"),
    )


def _densities(work: Work, wanted: DensityNeeds, query_ids: IdArray, pool: Array) -> Densities:
    """Return the densities of the test samples, and what must be told of the references they are taken in."""
    params, table, notes = work.params, work.inputs["densities"], dict[str, Any]()
    if not np.array_equal(texts(table, "sample_id"), query_ids):
        raise ValueError("the densities are not those of the test samples")
    if "attributes" in work.inputs:
        inferred = integers(work.inputs["attributes"], "attribute")[pool]
        notes["inferred_pool_attributes"] = np.bincount(inferred, minlength=params["n_attributes"]).tolist()
    references = references_of(work.inputs["references"], params).first(wanted.n, wanted.k, wanted.shortage)
    # A copy, for the table's own memory cannot be written to, which torch minds.
    log_density = vectors_of(table, "log_density").reshape(-1, params["n_classes"], params["n_attributes"]).copy()
    return Densities(log_density, {**notes, **reference_notes(references, query_ids)})


def _margin(prediction: Prediction) -> Array | list[None]:
    """Return by how much the best score exceeds the second."""
    if prediction.scores is None:
        return [None] * len(prediction.labels)
    ordered = np.sort(prediction.scores.astype(np.float64), axis=1)
    return ordered[:, -1] - ordered[:, -2]
