"""Results of the library, which are columns, as tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dat_lib.columns import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import DataclassInstance

    Result = DataclassInstance | Sequence[DataclassInstance]


def result_table(
    result: "Result", first: Mapping[str, npt.NDArray[Any] | list[Any]] | None = None, leave_out: tuple[str, ...] = ()
) -> pa.Table:
    """Return a result as a table, with columns of our own `first`, and without those that these take the place of."""
    kept = {name: values for name, values in columns(result).items() if name not in leave_out}
    return pa.table({name: _column(np.asarray(values)) for name, values in {**(first or {}), **kept}.items()})


def _column(values: npt.NDArray[Any]) -> pa.Array:
    if values.dtype.kind in "UO":
        return pa.array(values.tolist(), pa.string())
    return pa.array(values)
