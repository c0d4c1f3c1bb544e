"""Columns of a CSV or Parquet file as texts, and texts as values, with the row in every complaint."""

import codecs
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dat_lib.datasets.files.bounded_reading import check_width, read_parquet
from dat_lib.datasets.source import DataError

Value = TypeVar("Value")

_NO_ROWS = ("Empty CSV file", "cannot infer number of columns")
"""What the parser says of blank lines alone, and of a heading that no line follows."""
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


def read_columns(path: Path, needed: Sequence[str], optional: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return {column: texts} for the needed columns, and for those of the optional ones that there are.

    A file that ends in `.parquet` is read as Parquet, any other as CSV in UTF-8 with commas. An empty cell is "".
    """
    import pyarrow as pa

    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    if not path.stat().st_size:
        raise DataError(f"{path}: is empty")
    kind = "Parquet" if path.suffix.lower() == ".parquet" else "CSV"
    if kind == "CSV":
        _check_encoding(path)
    try:
        present = _parquet_names(path) if kind == "Parquet" else _csv_names(path)
        _check_names(path, present, needed, optional)
        chosen = [name for name in (*needed, *optional) if name in present]
        table = read_parquet(path, chosen) if kind == "Parquet" else _csv_table(path, chosen)
        columns = {name: _texts(table.column(name), name, path) for name in chosen}
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if any(words in str(error) for words in _NO_ROWS):
            raise DataError(f"{path}: has no rows") from error
        raise DataError(f"{path}: cannot be read as {kind}: {error}") from error
    if not table.num_rows:
        raise DataError(f"{path}: has no rows")
    return columns


def values_of(texts: Sequence[str], values: Mapping[str, Value], name: str, path: Path) -> list[Value]:
    """Return the value that each text of a column stands for; a `DataError` names the first row that has none."""
    found = []
    for row, text in enumerate(texts, start=1):
        if text not in values:
            raise DataError(f'{at_row(path, row)} has the {name} "{text}"; known are: {", ".join(values)}')
        found.append(values[text])
    return found


def at_row(path: Path, row: int) -> str:
    """Return how a message begins that is about one row; the first after the header is row 1."""
    return f"{path}: row {row}"


def _check_names(path: Path, present: Sequence[str], needed: Sequence[str], optional: Sequence[str]) -> None:
    missing = [name for name in needed if name not in present]
    if missing:
        raise DataError(
            f"{path}: no column {', '.join(missing)}; there are: {', '.join(present)}{_hint(present, missing)}"
        )
    twice = [name for name in (*needed, *optional) if present.count(name) > 1]
    if twice:
        raise DataError(f"{path}: the column {twice[0]} occurs {present.count(twice[0])} times")


def _hint(present: Sequence[str], missing: Sequence[str]) -> str:
    """Return what to do where the columns are there in another form; otherwise nothing."""
    for mark, marks in _SEPARATORS.items():
        if len(present) == 1 and mark in present[0]:
            return f"\n  its columns are separated by {marks}: save it as CSV with commas"
    plain = {name.strip().casefold(): name for name in present}
    renamed = [f'"{plain[name.casefold()]}" as "{name}"' for name in missing if name.casefold() in plain]
    return f"\n  capital letters and spaces count: write {', '.join(renamed)}" if renamed else ""


def _check_encoding(path: Path) -> None:
    with path.open("rb") as stream:
        start = stream.read(2)
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise DataError(f"{path}: is text in UTF-16; save it as CSV in UTF-8")


def _csv_options() -> dict[str, Any]:
    from pyarrow import csv

    # Rows are numbered in the parser's messages only when one thread reads.
    return {
        "read_options": csv.ReadOptions(use_threads=False),
        "parse_options": csv.ParseOptions(newlines_in_values=True),
    }


def _csv_names(path: Path) -> list[str]:
    from pyarrow import csv

    with csv.open_csv(path, **_csv_options()) as reader:
        return list(reader.schema.names)


def _csv_table(path: Path, names: list[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    convert = csv.ConvertOptions(
        include_columns=names, column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
    )
    return csv.read_csv(path, convert_options=convert, **_csv_options())


def _parquet_names(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    return list(pq.read_schema(path).names)


def _texts(column: Any, name: str, path: Path) -> list[str]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (
        pa.types.is_integer(column.type) or pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ):
        raise DataError(f"{path}: column {name} holds {column.type}, expected text or integers")
    texts = [text or "" for text in column.cast(pa.large_string()).to_pylist()]
    check_width(texts, name, path)
    return texts
