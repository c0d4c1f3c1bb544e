"""Figure 1b: how far prompts lie from groups of images, in units of each group's spread."""

import numpy as np

from dat_lib.applicability import NotApplicableError
from dat_lib.diagnostics.mahalanobis import prompt_distances
from tasks.step import Output, Work
from tasks.steps.diagnostics.inputs import group_names, prompt_rows, samples_of
from tasks.tables.result_table import result_table


def compute(work: Work) -> Output:
    """Return one row a prompt, group and draw of samples. Groups of too few samples are left out and counted."""
    params = work.params
    found = samples_of(work, params["split"])
    roles, words, vectors = prompt_rows(work)
    pairs = list(zip(found.labels.tolist(), found.attributes.tolist(), strict=True))
    sizes = {pair: pairs.count(pair) for pair in set(pairs) if pair[1] >= 0}
    enough = {pair for pair, size in sizes.items() if size >= params["size"]}
    if not enough:
        raise NotApplicableError(f"no group has {params['size']} samples in the split {params['split']}")
    kept = np.array([pair in enough for pair in pairs])
    distances = prompt_distances(
        found.vectors[kept],
        found.labels[kept],
        found.attributes[kept],
        vectors,
        size=params["size"],
        repeats=params["repeats"],
        shrinkage=params["shrinkage"],
        seed=params["seed"],
    )
    table = result_table(
        distances,
        {
            "role": [roles[row] for row in distances.prompt],
            "prompt_text": [words[row] for row in distances.prompt],
            "group_name": group_names(work, distances.label.tolist(), distances.attribute.tolist()),
        },
        leave_out=("prompt",),
    )
    return Output(table, {"groups": len(enough), "groups_left_out": len(sizes) - len(enough)})
