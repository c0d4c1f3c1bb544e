"""By how much a model multiplies cosines."""

from tasks.step import Work


def logit_scale(work: Work) -> float:
    """Return the model's own, or for embeddings without a model at hand the one its spec says."""
    if "weights" not in work.inputs:
        return float(work.params["logit_scale"])
    facts = dict(zip(*work.inputs["weights"].to_pydict().values(), strict=True))
    return float(facts["logit_scale"])
