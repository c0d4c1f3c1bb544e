"""Predictions of one method for the test samples. The method is given what it says it needs and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dat_lib.arrays import BoolArray
from dat_lib.methods.registry import make_method
from dat_lib.methods.support.blocks import joined_notes
from dat_lib.methods.support.contract import (
    Densities,
    DensityNeeds,
    Method,
    NotApplicableError,
    Prediction,
    Problem,
    run_method,
)
from dat_lib.reference_sets import reference_notes
from tasks.step import Output, Work
from tasks.tables.blocks import vector_blocks, vectors_where
from tasks.tables.columns import integers, texts
from tasks.tables.embedded import embedded_samples
from tasks.tables.logit_scales import logit_scale
from tasks.tables.prompt_vectors import prompt_vectors
from tasks.tables.reference_table import references_of
from tasks.tables.splits import of_split, test_rows

IN_PARTS = ("image_embeddings", "densities")


def compute(work: Work) -> Output:
    """Return one row a test sample, with its true class and attribute beside the prediction.

    A method that classifies each image by itself is given them in blocks.
    """
    method = make_method(work.params["method"], work.params["settings"])
    samples, left_out = embedded_samples(work)
    test, pool = test_rows(samples), of_split(samples, work.params.get("pool_split"))
    queries = samples.filter(pa.array(test)).select(["sample_id", "label", "attribute"])
    tables, predictions, done = [], [], 0
    for problem in _problems(work, method, samples, queries, test, pool):
        prediction = run_method(method, problem)
        block = queries.slice(done, len(prediction.labels))
        block = block.append_column("prediction", pa.array(prediction.labels.astype(np.int32)))
        tables.append(block.append_column("margin", _margin(prediction)))
        predictions.append(replace(prediction, scores=None))
        done += len(prediction.labels)
        work.progress(done, queries.num_rows, 0)
    notes = {**joined_notes(predictions), **left_out}
    if method.needs.in_full().pool and (shared := _shared(queries, samples.filter(pa.array(pool)))):
        notes["test_samples_in_pool"] = shared
    return Output(pa.concat_tables(tables), {"notes": notes})


def _problems(
    work: Work, method: Method, samples: pa.Table, queries: pa.Table, test: BoolArray, pool: BoolArray
) -> Iterator[Problem]:
    """Yield the problem, or the same for a block of queries after the other."""
    params, needs, images = work.params, method.needs, work.inputs["image_embeddings"]
    if needs.pool and not pool.any():
        raise NotApplicableError(f"it needs images of the split {params['pool_split']}, which has none")
    given = partial(
        Problem,
        text=prompt_vectors(params["text"], work.inputs["text_embeddings"]),
        n_classes=params["n_classes"],
        n_attributes=params["n_attributes"],
        pool=vectors_where(images, pool) if needs.pool else None,
        pool_ids=texts(samples.filter(pa.array(pool)), "sample_id") if needs.pool else None,
        pool_labels=integers(samples, "label")[pool] if needs.pool_labels else None,
        pool_attributes=integers(samples, "attribute")[pool] if needs.pool_attributes else None,
        logit_scale=logit_scale(work),
        seed=params["seed"],
        device=work.resources.get("device", "cpu"),
    )
    done = 0
    rows = 0 if needs.one_by_one else queries.num_rows
    densities = _densities(work, needs.densities, queries, pool, rows) if needs.densities is not None else None
    for vectors in vector_blocks(images, test, rows=rows):
        block = queries.slice(done, len(vectors))
        yield given(
            queries=vectors,
            query_ids=texts(block, "sample_id"),
            query_attributes=integers(block, "attribute") if needs.test_attributes else None,
            densities=next(densities) if densities is not None else None,
        )
        done += len(vectors)


def _densities(work: Work, wanted: DensityNeeds, queries: pa.Table, pool: BoolArray, rows: int) -> Iterator[Densities]:
    """Yield the densities of the test samples, and what must be told of the references they are taken in."""
    params, table, notes = work.params, work.inputs["densities"], dict[str, Any]()
    ids = queries.column("sample_id")
    if not table.column("sample_id").equals(ids):
        raise ValueError("the densities are not those of the test samples")
    if "attributes" in work.inputs:
        inferred = integers(work.inputs["attributes"], "attribute")[pool]
        notes["inferred_pool_attributes"] = np.bincount(inferred, minlength=params["n_attributes"]).tolist()
    references = references_of(work.inputs["references"], params).first(wanted.n, wanted.k, wanted.shortage)
    assert references.ids is not None
    among = pc.is_in(ids, value_set=pa.array(references.ids.tolist(), pa.string()))
    notes |= reference_notes(references, texts(queries.filter(among), "sample_id"))
    for block in vector_blocks(table, np.ones(table.num_rows, dtype=bool), "log_density", rows):
        yield Densities(block.reshape(-1, params["n_classes"], params["n_attributes"]), notes)


def _shared(queries: pa.Table, pool: pa.Table) -> int:
    """Return how many test samples are in the pool, too."""
    among = pc.is_in(queries.column("sample_id"), value_set=pool.column("sample_id").combine_chunks())
    return int(pc.sum(among).as_py())


def _margin(prediction: Prediction) -> pa.Array:
    """Return by how much the best score exceeds the second."""
    if prediction.scores is None:
        return pa.nulls(len(prediction.labels), pa.float64())
    ordered = np.sort(prediction.scores.astype(np.float64), axis=1)
    return pa.array(ordered[:, -1] - ordered[:, -2], pa.float64())
