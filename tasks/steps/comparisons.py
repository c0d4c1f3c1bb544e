"""A method beside a baseline on the same test samples: how much better it is, and how sure that is."""

import pyarrow as pa

from dat_lib.bootstrap import paired_bootstrap
from tasks.step import Output, Work
from tasks.tables.columns import integers


def compute(work: Work) -> Output:
    """Return one row a figure (worst group, average, gap): the method minus the baseline, in points."""
    params, ours, theirs = work.params, work.inputs["predictions"], work.inputs["baseline"]
    if not ours.column("sample_id").equals(theirs.column("sample_id")):
        raise ValueError("the method and the baseline were not tested on the same samples")
    found = paired_bootstrap(
        integers(ours, "prediction"),
        integers(theirs, "prediction"),
        integers(ours, "label"),
        integers(ours, "attribute"),
        groups=params["groups"],
        n_classes=len(params["classes"]),
        n_attributes=len(params["attributes"]),
        resamples=params["resamples"],
        seed=params["seed"],
    )
    rows = [
        {
            "figure": name,
            "difference": difference.estimate,
            "low": difference.low,
            "high": difference.high,
            "higher": difference.higher,
        }
        for name, difference in (("wg", found.worst_group), ("avg", found.average), ("gap", found.gap))
    ]
    return Output(pa.Table.from_pylist(rows), {"figures": rows})
