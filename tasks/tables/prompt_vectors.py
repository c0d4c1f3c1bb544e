"""The vectors of prompts by role."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tasks.tables.columns import vectors_of


def prompt_vectors(roles: Mapping[str, Any], table: pa.Table) -> dict[str, npt.NDArray[Any]]:
    """Return {role: [..., d]}: each prompt replaced by its vector, variants by the mean of their unit vectors."""
    vectors = dict(zip(table.column("prompt").to_pylist(), vectors_of(table), strict=True))

    def embed(text: Any) -> npt.NDArray[Any]:
        if isinstance(text, str):
            return np.asarray(vectors[text])
        if isinstance(text, Mapping):
            units = [vectors[variant] / np.linalg.norm(vectors[variant]) for variant in text["variants"]]
            return np.asarray(np.mean(units, axis=0, dtype=np.float64), dtype=np.float32)
        return np.stack([embed(part) for part in text])

    return {role: embed(text) for role, text in roles.items()}
