"""References of which a share stands for wrong groups."""

import numpy as np
import pyarrow as pa

from dat_lib.references import corrupt_references
from tasks.step import Output, Work
from tasks.tables.reference_table import reference_table, references_of


def compute(work: Work) -> Output:
    """Return the first n references of each group, a share of them exchanged with other groups'.

    Groups that are too short are left as they are, so that it can still be told how many samples they have.
    """
    params = work.params
    found = references_of(work.inputs["references"], params)
    chosen = found.first(params["n"], params["k"], params["shortage"])
    corrupted = corrupt_references(chosen, rate=params["corruption"], seed=params["seed"])
    short = {(group.label, group.attribute) for group in chosen.dropped}
    left = found.where(np.array([group in short for group in found.of_group()], dtype=bool))
    table = pa.concat_tables([reference_table(corrupted), reference_table(left)])
    order = [("label", "ascending"), ("attribute", "ascending"), ("rank", "ascending")]
    moved = int((corrupted.positions != chosen.positions).sum())
    return Output(table.sort_by(order).combine_chunks(), {"groups": len(found.groups), "moved": moved})
