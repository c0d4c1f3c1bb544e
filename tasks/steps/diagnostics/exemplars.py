"""Reference sets: which exemplars stand for each group, and how well."""

from dataclasses import replace

import numpy as np

from dat_lib.arrays import normalise
from dat_lib.diagnostics.exemplars import describe_exemplars
from dat_lib.methods.support.contract import NotApplicableError, no_references
from tasks.step import Output, Work
from tasks.steps.diagnostics.inputs import group_names, samples_of
from tasks.tables.columns import integers, texts
from tasks.tables.reference_table import references_of
from tasks.tables.result_table import result_table


def compute(work: Work) -> Output:
    """Return one row a reference, in order of group and of selection, with the image's file where there is one."""
    params = work.params
    pool = samples_of(work, params["split"])
    sizes = {"n_classes": len(params["classes"]), "n_attributes": len(params["attributes"])}
    settings = params["settings"]
    listed = references_of(work.inputs["references"], sizes).first(settings["n"], settings["k"], settings["shortage"])
    if not listed.groups:
        raise NotApplicableError(no_references([(group.have, group.need) for group in listed.dropped]))
    assert listed.ids is not None
    places = {sample: row for row, sample in enumerate(pool.ids.tolist())}
    positions = np.array([places[sample] for sample in listed.ids.tolist()], dtype=np.int64)
    attributes = pool.attributes
    if "attributes" in work.inputs:
        inferred = work.inputs["attributes"]
        told = dict(zip(texts(inferred, "sample_id").tolist(), integers(inferred, "attribute").tolist(), strict=True))
        attributes = np.array([told[sample] for sample in pool.ids.tolist()], dtype=np.int64)
    references = replace(listed, vectors=normalise(pool.vectors[positions], "embeddings"), positions=positions)
    found = describe_exemplars(references, pool.vectors, pool.labels, attributes)
    table = result_table(
        found,
        {
            "group_name": group_names(work, found.label.tolist(), found.attribute.tolist()),
            "place": found.order,
            "file": [pool.files[row] for row in found.position.tolist()],
            "true_label": pool.labels[found.position],
            "true_attribute": pool.attributes[found.position],
        },
        leave_out=("position", "order"),
    )
    dropped = [[group.label, group.attribute, group.have, group.need] for group in listed.dropped]
    return Output(table, {"groups": len(listed.groups), "dropped_groups": dropped})
