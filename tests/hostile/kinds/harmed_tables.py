"""Arrow tables with other types, values, names or numbers of rows."""

import random
from typing import Any

import numpy as np
import pyarrow as pa

from tests.hostile import mutating


def harmed_table(table: pa.Table, chance: random.Random) -> pa.Table:
    """Return a table with other types, values, names or numbers of rows."""
    column = chance.randrange(table.num_columns)
    name = table.column_names[column]
    values = table.column(column).to_pylist()
    row = chance.randrange(len(values))

    def other(array: pa.Array) -> pa.Table:
        return table.set_column(column, name, array)

    match chance.randrange(12):
        case 0:
            return table.drop_columns([name])
        case 1:
            return table.append_column(name, table.column(column))
        case 2:
            return other(pa.nulls(len(values)))
        case 3:
            kinds = (pa.string(), pa.large_string(), pa.binary(), pa.int8(), pa.float64(), pa.list_(pa.string()))
            kind = chance.choice(kinds)
            try:
                return other(table.column(column).cast(kind))
            except pa.ArrowException:
                return other(pa.nulls(len(values), kind))
        case 4:
            return other(table.column(column).dictionary_encode()) if name != "embedding" else table.slice(0, 0)
        case 5:
            return pa.concat_tables([table] * 50)
        case 6:
            return table.slice(0, chance.choice((0, 1, 2)))
        case 7:
            return table.rename_columns([chance.choice(mutating.TEXTS) if c == name else c for c in table.column_names])
        case 8 if name == "embedding":
            kinds = (pa.float16(), pa.float64(), pa.int32(), pa.list_(pa.float32()))
            kind = chance.choice(kinds)
            vectors = [[vector] if pa.types.is_list(kind) else vector for vector in values]
            if pa.types.is_integer(kind):
                vectors = [[int(number) for number in vector] for vector in values]
            if kind == pa.float16():
                vectors = [np.asarray(vector, dtype=np.float16) for vector in values]
            return other(pa.array(vectors, pa.list_(kind)))
        case 9 if name == "embedding":
            width = len(values[0])
            return other(pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(values), pa.float32()), width))
        case _:
            for place in (row, chance.randrange(len(values))):
                values[place] = _other_cell(values[place], chance)
            return other(pa.array(values, table.schema.field(column).type))


def _other_cell(value: Any, chance: random.Random) -> Any:
    if isinstance(value, str):
        return chance.choice((*mutating.TEXTS, None))
    if isinstance(value, int):
        return chance.choice((-1, 2, 2**31, 2**63 - 1, -(2**63), None))
    if chance.random() < 0.3:
        return chance.choice(([], None, value[:-1], value * 1000, [None] * len(value)))
    numbers = (float("nan"), float("inf"), 0.0, 3e38, 1e-45, -3e38, None)
    return [chance.choice(numbers) if chance.random() < 0.3 else number for number in value]
