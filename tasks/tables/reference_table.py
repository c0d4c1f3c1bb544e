"""Sets of references as tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from dat_lib.reference_sets import GroupReferences
from tasks.tables.columns import integers, texts


def reference_table(references: GroupReferences) -> pa.Table:
    """Return one row a reference: its sample, the group it stands for, and its place in the order of selection."""
    assert references.ids is not None
    return pa.table(
        {
            "sample_id": pa.array(references.ids.tolist(), pa.string()),
            "label": pa.array(references.labels.astype(np.int32)),
            "attribute": pa.array(references.attributes.astype(np.int32)),
            "rank": pa.array(references.ranks.astype(np.int32)),
        }
    )


def references_of(table: pa.Table, params: Mapping[str, Any]) -> GroupReferences:
    """Return the references that a table lists, without their vectors: those are with the embeddings."""
    return GroupReferences(
        vectors=np.empty((table.num_rows, 0), dtype=np.float32),
        labels=integers(table, "label"),
        attributes=integers(table, "attribute"),
        positions=np.arange(table.num_rows),
        ids=texts(table, "sample_id"),
        n_classes=params["n_classes"],
        n_attributes=params["n_attributes"],
    )
