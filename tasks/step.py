"""What every step is given and what it returns. A step knows neither the store nor the planner."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Work:
    """Inputs by role, and the parameters, facts and resources of the cell.

    A large input of a role that the step's module lists as `IN_PARTS` is left in its files: of a table it has
    `num_rows`, `schema`, `column` and `to_batches`, which read what is asked for.

    `kept` are the shards that an interrupted attempt has left, {number: rows}; a step that makes shards leaves them
    out. `together` are the parameters of other cells that are asked for and differ in these alone, where the step can
    make several of them in one go. `progress` is called with what is done, what there is to do, and what has failed
    of what is done, in the step's own unit.
    """

    inputs: Mapping[str, pa.Table]
    params: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    kept: Mapping[int, int] = field(default_factory=dict)
    together: Sequence[Mapping[str, Any]] = ()
    progress: Callable[[int, int, int], None] = lambda done, total, failed: None


@dataclass(frozen=True)
class Output:
    """The table to keep, and the few values of it that are asked for most; and the same for each of `together`."""

    table: pa.Table
    summary: Mapping[str, Any] = field(default_factory=dict)
    together: Sequence["Output"] = ()


@dataclass(frozen=True)
class ShardedOutput:
    """A table that comes in numbered shards, each kept as soon as it is there, beside those of each of `together`.

    Summaries may be filled in while the shards are made: they are read after the last one.
    """

    shards: Iterator[tuple[int, *tuple[pa.Table, ...]]]
    summary: Mapping[str, Any] = field(default_factory=dict)
    together: Sequence[Mapping[str, Any]] = ()
    """The summaries of the others."""
