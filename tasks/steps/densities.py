"""How sparse the references of each group are around each test sample, as logarithms."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dat_lib.arrays import BoolArray, IntArray, normalise
from dat_lib.density.reference_density import ReferenceDensity
from dat_lib.reference_sets import GroupReferences
from tasks.step import ShardedOutput, Work
from tasks.tables.blocks import vector_blocks, vectors_at
from tasks.tables.columns import texts, vector_column
from tasks.tables.embedded import embedded_samples
from tasks.tables.reference_table import references_of
from tasks.tables.splits import of_split, test_rows

IN_PARTS = ("image_embeddings",)


def compute(work: Work) -> ShardedOutput:
    """Yield one row a test sample: log D of every group, class by class, +inf for a group without references.

    The densities of other neighbourhoods that are asked for together come from the same distance pass.
    """
    params = work.params
    samples, _ = embedded_samples(work)
    test = test_rows(samples)
    found = references_of(work.inputs["references"], params)
    vectors = vectors_at(work.inputs["image_embeddings"], _rows_of(found, samples, params["pool_split"]))
    asked = [params["k"], *(other["k"] for other in work.together)]
    chosen = {k: found.first(params["n"], k, params["shortage"]) for k in asked}
    passes = [
        ReferenceDensity(
            replace(chosen[ks[0]], vectors=normalise(vectors[chosen[ks[0]].positions], "embeddings")),
            ks,
            density=params["density"],
            lid=params["lid"],
            metric=params["metric"],
            device=work.resources.get("device", "cpu"),
        )
        for ks in _in_one_pass(chosen)
    ]
    shards = _shards(work, passes, asked, samples.column("sample_id"), test)
    summary, *others = ({"active_groups": len(chosen[k].groups)} for k in asked)
    return ShardedOutput(shards, summary, others)


def _shards(
    work: Work, passes: Sequence[ReferenceDensity], asked: Sequence[int], ids: pa.ChunkedArray, test: BoolArray
) -> Iterator[tuple[int, *tuple[pa.Table, ...]]]:
    """Yield a table of each k that is asked for, for a block of queries after the other."""
    queries, done = pa.table({"sample_id": ids.filter(pa.array(test))}), 0
    for number, vectors in enumerate(vector_blocks(work.inputs["image_embeddings"], test)):
        block = queries.slice(done, len(vectors))
        if number not in work.kept:
            names = texts(block, "sample_id")
            found = {
                k: values
                for density in passes
                for k, values in zip(density.ks, density.log_density(vectors, names), strict=True)
            }
            flat = (vector_column(found[k].reshape(len(names), -1)) for k in asked)
            yield number, *(block.append_column("log_density", column) for column in flat)
        done += len(vectors)
        work.progress(done, queries.num_rows, 0)


def _rows_of(references: GroupReferences, samples: pa.Table, pool_split: str) -> IntArray:
    """Return the rows of the embeddings at which the references lie."""
    pool = of_split(samples, pool_split)
    ids = samples.filter(pa.array(pool)).column("sample_id").combine_chunks()
    assert references.ids is not None
    places = pc.index_in(pa.array(references.ids.tolist(), pa.string()), value_set=ids)
    if places.null_count:
        raise ValueError(f"the references are not samples of the split {pool_split}")
    rows: IntArray = np.flatnonzero(pool)[places.to_numpy()]
    return rows


def _in_one_pass(chosen: Mapping[int, GroupReferences]) -> list[tuple[int, ...]]:
    """Return the neighbourhoods that share their references; which groups are long enough may depend on them."""
    passes: dict[tuple[Any, ...], list[int]] = {}
    for k, references in chosen.items():
        passes.setdefault(tuple(references.groups), []).append(k)
    return [tuple(ks) for ks in passes.values()]
