"""Metrics of one method's predictions: accuracy a group, worst group, averages and gap, and how sure they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dat_lib.bootstrap import bootstrap_metrics
from dat_lib.metrics import GroupAccuracy, group_metrics
from tasks.step import Output, Work
from tasks.tables.columns import integers
from tasks.tables.splits import of_split

_SCHEMA = pa.schema(
    {
        "group": pa.string(),
        "label": pa.int32(),
        "attribute": pa.int32(),
        "correct": pa.int64(),
        "total": pa.int64(),
        "accuracy": pa.float64(),
        "worst_share": pa.float64(),
    }
)


def compute(work: Work) -> Output:
    """Return one row a group; the summary holds what is asked for most."""
    params, predictions = work.params, work.inputs["predictions"]
    truth = (integers(predictions, "label"), integers(predictions, "attribute"))
    predicted = integers(predictions, "prediction")
    setting = {
        "groups": params["groups"],
        "reference_counts": _training_counts(work),
        "n_classes": len(params["classes"]),
        "n_attributes": len(params["attributes"]),
    }
    metrics = group_metrics(predicted, *truth, **setting)
    sure = bootstrap_metrics(predicted, *truth, **setting, resamples=params["resamples"], seed=params["seed"])
    words = (params["classes"], params["attributes"])
    groups = [
        {**_record(group, *words), "worst_share": sure.worst_share[key]} for key, group in metrics.per_group.items()
    ]
    summary = {
        "wg": metrics.worst_group,
        "avg": metrics.average,
        "avg_adjusted": metrics.average_adjusted,
        "gap": metrics.gap,
        "wg_low": sure.worst_group.low,
        "wg_high": sure.worst_group.high,
        "avg_low": sure.average.low,
        "avg_high": sure.average.high,
        "worst_group": _name(metrics.worst, *words),
        "samples": predictions.num_rows,
        "groups": groups,
    }
    return Output(pa.Table.from_pylist(groups, schema=_SCHEMA), summary)


def _training_counts(work: Work) -> npt.NDArray[np.int64] | None:
    """Return the group sizes of the training split, None when it has none of the groups that are tested."""
    samples, params = work.inputs["samples"], work.params
    train = of_split(samples, "train")
    if not train.any():
        return None
    counts = np.zeros((len(params["classes"]), len(params["attributes"])), dtype=np.int64)
    labels, attributes = (integers(samples, name)[train] for name in ("label", "attribute"))
    described = attributes >= 0
    np.add.at(counts, (labels[described], attributes[described]), 1)
    tested = tuple(integers(work.inputs["predictions"], name) for name in ("label", "attribute"))
    counts, tested = (counts.sum(axis=0), tested[1:]) if params["groups"] == "attribute" else (counts, tested)
    known = tested[-1] >= 0
    return counts if counts[tuple(places[known] for places in tested)].any() else None


def _record(group: GroupAccuracy, classes: Sequence[str], attributes: Sequence[str]) -> dict[str, Any]:
    return {
        "group": _name(group, classes, attributes),
        "label": group.label,
        "attribute": group.attribute,
        "correct": group.correct,
        "total": group.total,
        "accuracy": group.accuracy,
    }


def _name(group: GroupAccuracy, classes: Sequence[str], attributes: Sequence[str]) -> str:
    words = [] if group.label is None else [classes[group.label]]
    return ", ".join([*words, attributes[group.attribute] if group.attribute >= 0 else "other"])
