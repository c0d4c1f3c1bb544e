"""The raw vectors of prompts by a model."""

from collections.abc import Sequence

import pyarrow as pa

from dat_lib.backbones.backbone import Backbone
from tasks.engine.devices import chosen_devices
from tasks.step import Output, Work
from tasks.steps.weights import check_facts, open_backbone
from tasks.tables.columns import vector_column


def compute(work: Work) -> Output:
    """Return one row a prompt; the summary names prompts that the model could not read to their end.

    Other sets of prompts that are asked for together are encoded by the model that is open already.
    """
    device = chosen_devices(work.resources["device"])[0]
    backbone = open_backbone(work.params["backbone"], work.resources["weights"], device)
    check_facts(backbone, work.inputs["weights"])
    first, *others = (_encoded(backbone, params["prompts"]) for params in (work.params, *work.together))
    return Output(first.table, first.summary, tuple(others))


def _encoded(backbone: Backbone, prompts: Sequence[str]) -> Output:
    prompts = list(prompts)
    found = backbone.encode_texts(prompts)
    table = pa.table({"prompt": pa.array(prompts, pa.string()), "embedding": vector_column(found.vectors)})
    truncated = [prompts[position] for position in found.truncated]
    return Output(table, {"dimension": backbone.dimension, **({"truncated": truncated} if truncated else {})})
