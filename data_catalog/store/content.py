"""Digests of what a table says, whatever file, sharding or library version it is stored with.

The digest of a table's content enters the keys of everything computed from it, so it must depend on values alone:
not on how rows are cut into batches, on Parquet encodings, or on bytes that lie hidden under nulls.
"""

import hashlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


class ContentDigest:
    """Digest of a table fed batch by batch; the cuts between batches do not matter."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns = [_ColumnDigest(field.type) for field in schema]
        self.rows = 0

    def update(self, batch: pa.RecordBatch) -> None:
        """Add the rows of `batch`."""
        for column, digest in zip(batch.columns, self._columns, strict=True):
            digest.update(column)
        self.rows += batch.num_rows

    def hexdigest(self) -> str:
        """Return the digest of all rows so far."""
        total = hashlib.sha256(f"rows {self.rows}\n".encode())
        for field, digest in zip(self._schema, self._columns, strict=True):
            total.update(f"{field.name}\0{_type_name(field.type)}\0{digest.hexdigest()}\n".encode())
        return total.hexdigest()


def content_digest(table: pa.Table) -> str:
    """Return the digest of a whole table."""
    digest = ContentDigest(table.schema)
    for batch in table.to_batches():
        digest.update(batch)
    return digest.hexdigest()


class _ColumnDigest:
    """Digest of one column: which values are null, and the values, each a stream of its own."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._nulls = hashlib.sha256()
        self._values = hashlib.sha256()
        self._lengths = hashlib.sha256()
        self._inner = _ColumnDigest(kind.value_type) if _is_list(kind) else None

    def update(self, column: pa.Array) -> None:
        nulls = pc.is_null(column)
        self._nulls.update(nulls.to_numpy(zero_copy_only=False).tobytes())
        if self._inner is not None:
            self._lengths.update(_little(pc.fill_null(pc.list_value_length(column), 0), "<i8"))
            self._inner.update(column.flatten())  # leaves out what lies under nulls
        elif pa.types.is_string(self._kind) or pa.types.is_large_string(self._kind):
            filled = pc.fill_null(column, "")
            self._lengths.update(_little(pc.binary_length(filled), "<i8"))
            self._values.update("".join(filled.to_pylist()).encode())
        elif pa.types.is_boolean(self._kind):
            self._values.update(_little(pc.fill_null(column, False), "|b1"))
        elif pa.types.is_integer(self._kind) or pa.types.is_floating(self._kind):
            width = self._kind.bit_width // 8
            code = "f" if pa.types.is_floating(self._kind) else "i" if str(self._kind)[0] == "i" else "u"
            self._values.update(_little(pc.fill_null(column, 0), f"<{code}{width}"))
        else:
            raise TypeError(f"a column of type {self._kind} has no content digest")

    def hexdigest(self) -> str:
        parts = [self._nulls.hexdigest(), self._values.hexdigest(), self._lengths.hexdigest()]
        if self._inner is not None:
            parts.append(self._inner.hexdigest())
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _type_name(kind: pa.DataType) -> str:
    """Return a type without the names of inner fields, which Parquet changes."""
    if not _is_list(kind):
        return str(kind)
    size = kind.list_size if pa.types.is_fixed_size_list(kind) else "any"
    return f"list[{size}] of {_type_name(kind.value_type)}"


def _little(column: pa.Array, dtype: str) -> Any:
    """Return the raw little-endian bytes of a column without nulls."""
    return column.to_numpy(zero_copy_only=False).astype(dtype, copy=False).tobytes()
