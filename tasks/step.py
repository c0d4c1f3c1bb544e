"""What every step is given and what it returns. A step knows neither the store nor the planner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Work:
    """Inputs by role, and the parameters, facts and resources of the cell."""

    inputs: Mapping[str, pa.Table]
    params: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Output:
    """The table to keep, and the few values of it that are asked for most."""

    table: pa.Table
    summary: Mapping[str, Any] = field(default_factory=dict)
