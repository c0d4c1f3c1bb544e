"""The density triptychs: cosine, density and DAT score of groups and of their spurious counterparts."""

from typing import Any

import numpy as np
import pyarrow as pa

from dat_lib.applicability import NotApplicableError
from dat_lib.arrays import FloatArray
from dat_lib.diagnostics.triptych import (
    Triptych,
    density_triptych,
    spurious_counterpart,
    summarise_triptych,
)
from dat_lib.translation import Similarities
from tasks.step import Output, Work
from tasks.steps.diagnostics.density_inputs import measured, translation
from tasks.steps.diagnostics.inputs import SplitSamples, group_names, in_one_go
from tasks.tables.result_table import result_table

Group = tuple[int, int]


def compute(work: Work) -> Output:
    """Return one row a sample and group it is measured against, or one a quantity, for the groups zero-shot does worst.

    A group counts that has references, as its counterpart must.
    """
    found, similarity, log_density = measured(work)
    pairs = _worst(found, similarity, log_density, work.params["groups"])
    if not pairs:
        raise NotApplicableError("no group and its counterpart both have references and test samples")
    parts = {
        (group, other): density_triptych(
            similarity,
            log_density,
            found.labels,
            found.attributes,
            group=group,
            counterpart=other,
            **translation(work, "strength", "epsilon"),
        )
        for group, other in pairs
    }
    return in_one_go(
        work,
        {
            "diagnostic_triptych": lambda: pa.concat_tables(
                [
                    result_table(
                        part,
                        {
                            **_pair(work, *pair, len(part.row)),
                            "sample_id": found.ids[part.row].tolist(),
                            "against": group_names(work, part.label.tolist(), part.attribute.tolist()),
                        },
                        leave_out=("row",),
                    )
                    for pair, part in parts.items()
                ]
            ).combine_chunks(),
            "diagnostic_triptych_summary": lambda: pa.concat_tables(
                [_summary(work, pair, part) for pair, part in parts.items()]
            ).combine_chunks(),
        },
        groups=[list(group) for group, _ in pairs],
    )


def _worst(
    found: SplitSamples, similarity: Similarities, log_density: FloatArray, count: int
) -> list[tuple[Group, Group]]:
    """Return up to `count` groups and their counterparts, those first that zero-shot gets right least often."""
    right = similarity.classes.argmax(axis=1) == found.labels
    accuracy: dict[tuple[Group, Group], float] = {}
    for label, attribute in np.ndindex(log_density.shape[1:]):
        own = (found.labels == label) & (found.attributes == attribute)
        if not own.any() or np.isposinf(log_density[0, label, attribute]):
            continue
        group = (int(label), int(attribute))
        other = spurious_counterpart(similarity, found.labels, found.attributes, group)
        tested = ((found.labels == other[0]) & (found.attributes == other[1])).any()
        if tested and not np.isposinf(log_density[0, other[0], other[1]]):
            accuracy[group, other] = float(right[own].mean())
    return sorted(accuracy, key=lambda pair: (accuracy[pair], pair))[:count]


def _summary(work: Work, pair: tuple[Group, Group], part: Triptych) -> pa.Table:
    summary = summarise_triptych(part)
    return result_table(summary, _pair(work, *pair, len(summary.quantity)))


def _pair(work: Work, group: Group, other: Group, rows: int) -> dict[str, list[Any]]:
    names = group_names(work, *zip(group, other, strict=True))
    return {"group_name": [names[0]] * rows, "counterpart": [names[1]] * rows}
