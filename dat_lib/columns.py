"""Results as columns, so that each can be stored as one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Columns: TypeAlias = dict[str, npt.NDArray[Any]]
"""Columns of a table by name, all [rows]."""


def columns(result: DataclassInstance | Sequence[DataclassInstance]) -> Columns:
    """Columns of a dataclass of arrays [rows], or of a sequence of records of plain values, one row each.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: float
    ...     name: str
    >>> columns([Point(1.0, "a"), Point(2.0, "b")])
    {'x': array([1., 2.]), 'name': array(['a', 'b'], dtype='<U1')}
    """
    if isinstance(result, Sequence):
        if not result:
            raise ValueError("there are no rows to make columns of")
        table = {field.name: np.array([getattr(row, field.name) for row in result]) for field in fields(result[0])}
    else:
        table = {field.name: np.asarray(getattr(result, field.name)) for field in fields(result)}
    shapes = {name: array.shape for name, array in table.items()}
    if len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(f"columns must be vectors of one length, not {shapes}")
    return table
