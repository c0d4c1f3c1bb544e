"""What a model is: every fact that decides its vectors, as a table, and its logit scale."""

from typing import Any

import pyarrow as pa

from dat_lib.backbones.backbone import Backbone, BackboneError
from dat_lib.backbones.registry import BACKBONES
from tasks.step import Output, Work


def compute(work: Work) -> Output:
    """Return one row a fact; a model of another dimension than its spec says is refused."""
    backbone = open_backbone(work.params, work.resources["weights"])
    if work.params["dimension"] not in (None, backbone.dimension):
        raise ValueError(f"the model has {backbone.dimension} dimensions, its spec says {work.params['dimension']}")
    facts = {**backbone.facts, "dimension": str(backbone.dimension), "logit_scale": repr(backbone.logit_scale)}
    table = pa.table({"fact": pa.array(list(facts), pa.string()), "value": pa.array(list(facts.values()), pa.string())})
    return Output(table, facts)


def open_backbone(params: Any, weights: str | None, device: str = "cpu") -> Backbone:
    """Open the model that a cell names, on a device."""
    loader = BACKBONES.module(params["kind"])
    try:
        backbone: Backbone = loader.open_backbone(device=device, weights=weights, **params["settings"])
    except ValueError:
        raise
    except Exception as error:  # libraries meet what is wrong in a model's files with many kinds of exceptions
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise BackboneError(f"{weights or 'the model'}: cannot be opened or used: {what[:400]}") from error
    return backbone


def check_facts(backbone: Backbone, weights: pa.Table) -> None:
    """Refuse a model that is not the one whose facts were recorded."""
    recorded = dict(zip(weights.column("fact").to_pylist(), weights.column("value").to_pylist(), strict=True))
    changed = [name for name, value in backbone.facts.items() if recorded.get(name) != value]
    if changed:
        raise ValueError(
            f"the model is not the one whose facts were recorded: {', '.join(changed)} changed. The hub's has moved "
            "on: name its `revision` under [settings] of the backbone's spec, or a local copy as `weights`"
        )
