"""The artifact of a cell that is not applicable: no rows, and the reason in its summary."""

from collections.abc import Mapping

import pyarrow as pa

from data_catalog.canonical import digest_text
from data_catalog.index.views import file_columns
from data_catalog.store.manifest import Manifest

NOT_APPLICABLE = "not_applicable"
"""Where the summary of such an artifact holds the reason."""

_TYPES = {
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
}


def reason_of(manifest: Manifest) -> str:
    """Return why a cell is not applicable; empty for one that is."""
    return str(manifest.summary.get(NOT_APPLICABLE, ""))


def inherited_reason(parents: Mapping[str, Manifest]) -> str:
    """Return why what is made from these artifacts is not applicable; empty where nothing is in the way."""
    return next((reason for manifest in parents.values() if (reason := reason_of(manifest))), "")


def empty_table(step: str) -> pa.Table:
    """Return a table without rows that the views over the files of a step can read."""
    columns = file_columns(step) or {NOT_APPLICABLE: "VARCHAR"}
    return pa.schema({name: _TYPES[kind] for name, kind in columns.items()}).empty_table()


def empty_content(reason: str) -> str:
    """Return the content digest of such an artifact, so that what rests on it is made again for another reason."""
    return digest_text(f"{NOT_APPLICABLE}\0{reason}")
