"""References: the samples of the pool that may stand for each group, best first."""

import pyarrow as pa

from dat_lib.applicability import NotApplicableError
from dat_lib.references import select_references
from tasks.step import Output, Work
from tasks.tables.blocks import vectors_where
from tasks.tables.columns import integers, texts
from tasks.tables.embedded import embedded_samples
from tasks.tables.reference_table import reference_table
from tasks.tables.splits import of_split

IN_PARTS = ("image_embeddings",)


def compute(work: Work) -> Output:
    """Return up to n references of each group, and all there are of a shorter one.

    Who uses them takes as many as he needs from the top, and drops the groups that are too short for him.
    """
    params = work.params
    samples, _ = embedded_samples(work)
    pool = of_split(samples, params["pool_split"])
    if not pool.any():
        raise NotApplicableError(f"references are images of the split {params['pool_split']}, which has none")
    attributes = integers(work.inputs.get("attributes", samples), "attribute")
    references = select_references(
        vectors_where(work.inputs["image_embeddings"], pool),
        integers(samples, "label")[pool],
        attributes[pool],
        n=params["n"],
        k=0,
        n_classes=params["n_classes"],
        n_attributes=params["n_attributes"],
        shortage="use",
        sampling=params["sampling"],
        seed=params.get("seed", 0),
        sample_ids=texts(samples.filter(pa.array(pool)), "sample_id"),
    )
    return Output(reference_table(references), {"groups": len(references.groups)})
