"""Tables that somebody else made, read whole, unless that takes far more memory than their size suggests."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dat_lib.datasets.source import DataError

ROOM = 2**31
_RATIO = 200
"""A file may unfold to 2 GiB whatever its size, and beyond that to so many times its size."""
_BITS = 8


def read_parquet(path: Path, columns: Sequence[str]) -> Any:
    """Return the columns of a Parquet file as an Arrow table; a `DataError` for a decompression bomb.

    A few bytes can stand for a million rows, and a text that is stored once for a text in each of them.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = path.stat().st_size
    with pq.ParquetFile(path) as plain:
        metadata, schema = plain.metadata, plain.schema_arrow
    for name in columns:
        if schema.names.count(name) != 1:
            raise DataError(f"{path}: the column {name} occurs {schema.names.count(name)} times")
    if metadata.num_rows > _BITS * size:
        raise DataError(f"{path}: says that it has {metadata.num_rows:,} rows in {size:,} bytes; refused as a bomb")
    _check(path, size, 8 * _values(path, columns))
    texts = [name for name in columns if _is_text(schema.field(name).type)]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        table = file.read(columns=list(columns))
    for name in texts:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            _check(path, size, sum(_unfolded(chunk) for chunk in column.chunks))
            kind = schema.field(name).type
            table = table.set_column(table.column_names.index(name), name, column.cast(kind))
    return table


def _values(path: Path, columns: Sequence[str]) -> int:
    """Return how many values a Parquet file says that it has in these columns, those within lists counted.

    DuckDB is asked, for where what a file says of a column contradicts itself, Arrow's answer ends the process.
    """
    import duckdb

    plain = re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))  # no pattern of file names
    question = "SELECT sum(num_values) FROM parquet_metadata($1) WHERE split_part(path_in_schema, ', ', 1) IN $2"
    with duckdb.connect(":memory:") as connection:
        try:
            (values,) = connection.execute(question, [plain, list(columns)]).fetchall()[0]
        except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: cannot be read as Parquet: {error}") from error
    return int(values or 0)


def check_width(texts: Sequence[str], name: str, path: Path) -> None:
    """Refuse texts that NumPy could not hold: in its arrays each takes the room of the longest."""
    longest = max(map(len, texts), default=0)
    if 4 * longest * len(texts) > ROOM:
        row = next(row for row, text in enumerate(texts, start=1) if len(text) == longest)
        raise DataError(f"{path}: row {row}: the {name} has {longest:,} characters, too many for {len(texts):,} rows")


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _unfolded(chunk: Any) -> int:
    """Bytes that a chunk takes with every text written out."""
    import pyarrow.compute as pc

    lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
    return 8 * len(chunk) + int(pc.sum(lengths.cast("int64")).as_py() or 0)


def _check(path: Path, size: int, unfolded: int) -> None:
    if unfolded > max(ROOM, _RATIO * size):
        raise DataError(f"{path}: unfolds to {unfolded:,} bytes from {size:,}; refused as a decompression bomb")
