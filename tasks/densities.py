"""How sparse the references of each group are around each test sample, as logarithms."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dat_lib.arrays import IdArray, normalise
from dat_lib.group_density import ReferenceDensity
from dat_lib.reference_sets import GroupReferences
from tasks.columns import texts, vector_column, vectors_of
from tasks.embedded import embedded_samples
from tasks.reference_table import references_of
from tasks.step import Output, Work


def compute(work: Work) -> Output:
    """Return one row a test sample: log D of every group, class by class, +inf for a group without references.

    The densities of other neighbourhoods that are asked for together come from the same distance pass.
    """
    params = work.params
    samples, _ = embedded_samples(work)
    split, ids = texts(samples, "split"), texts(samples, "sample_id")
    test = split == "test"
    if not test.any():
        raise ValueError("the dataset has no test samples")
    test_ids = samples.filter(pa.array(test)).column("sample_id")
    images = vectors_of(work.inputs["image_embeddings"])
    found = references_of(work.inputs["references"], params)
    rows = _rows_of(found, ids, split == params["pool_split"])
    asked = [params["k"], *(other["k"] for other in work.together)]
    chosen = {k: found.first(params["n"], k, params["shortage"]) for k in asked}
    outputs: dict[int, Output] = {}
    for ks in _in_one_pass(chosen):
        references = chosen[ks[0]]
        vectors = normalise(images[rows[references.positions]], "embeddings")
        logarithms = _log_densities(references, vectors, ks, images[test], ids[test], work)
        for k, values in zip(ks, logarithms, strict=True):
            flat = values.reshape(len(values), -1)
            table = pa.table({"sample_id": test_ids, "log_density": vector_column(flat)})
            outputs[k] = Output(table, {"active_groups": len(references.groups)})
    first, *others = (outputs[k] for k in asked)
    return Output(first.table, first.summary, tuple(others))


def _rows_of(references: GroupReferences, ids: IdArray, pool: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the rows of the embeddings at which the references lie."""
    places = dict(zip(ids[pool].tolist(), np.flatnonzero(pool).tolist(), strict=True))
    assert references.ids is not None
    return np.array([places[sample] for sample in references.ids.tolist()], dtype=np.int64)


def _in_one_pass(chosen: Mapping[int, GroupReferences]) -> list[tuple[int, ...]]:
    """Return the neighbourhoods that share their references; which groups are long enough may depend on them."""
    passes: dict[tuple[Any, ...], list[int]] = {}
    for k, references in chosen.items():
        passes.setdefault(tuple(references.groups), []).append(k)
    return [tuple(ks) for ks in passes.values()]


def _log_densities(
    references: GroupReferences,
    vectors: npt.NDArray[Any],
    ks: tuple[int, ...],
    queries: npt.NDArray[Any],
    query_ids: IdArray,
    work: Work,
) -> npt.NDArray[Any]:
    """Return log D [len(ks), N, K, M]."""
    density = ReferenceDensity(
        replace(references, vectors=vectors),
        ks,
        density=work.params["density"],
        lid=work.params["lid"],
        metric=work.params["metric"],
        device=work.resources.get("device", "cpu"),
    )
    return density.log_density(queries, query_ids)
