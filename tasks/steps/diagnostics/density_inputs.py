"""Test samples with their similarities and densities, as diagnostics of DAT look at them."""

from typing import Any

import numpy as np

from dat_lib.applicability import NotApplicableError
from dat_lib.arrays import FloatArray
from dat_lib.translation import Similarities, similarities
from tasks.step import Work
from tasks.steps.diagnostics.inputs import SplitSamples, samples_of, vectors_by_role
from tasks.tables.columns import texts, vectors_of


def measured(work: Work) -> tuple[SplitSamples, Similarities, FloatArray]:
    """Return the test samples, their cosines with class and group prompts, and log D [N, K, M]."""
    found = samples_of(work, "test")
    table, params = work.inputs["densities"], work.params
    if not np.array_equal(texts(table, "sample_id"), found.ids):
        raise ValueError("the densities are not those of the test samples")
    text = vectors_by_role(work)
    log_density = vectors_of(table, "log_density").reshape(-1, len(params["classes"]), len(params["attributes"]))
    if np.isposinf(log_density).all():
        raise NotApplicableError("no group has references, so there are no densities to look at")
    return found, similarities(found.vectors, text["class"], text["group"]), log_density.copy()


def translation(work: Work, *names: str) -> dict[str, Any]:
    """Return these settings of the method."""
    return {name: work.params["settings"][name] for name in names}
