"""The table of an artifact, left in its files."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest, StoredFile

_READ_AT_ONCE = 2**22


class StoredTable:
    """What a step that takes its input in parts uses of `pyarrow.Table`, read when it is asked for.

    Each file is checked, as by `Store.read`, before it is read for the first time.
    """

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self._store, self._manifest = store, manifest
        self._checked: set[str] = set()
        self.num_rows = manifest.rows

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return pq.read_schema(self._sound(self._manifest.files[0]))

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one column, without reading the others."""
        tables = [pq.read_table(self._sound(file), columns=[name]) for file in self._manifest.files]
        return pa.concat_tables(tables).column(name)

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, so many at a time at most."""
        for file in self._manifest.files:
            # Buffered, for otherwise a whole row group is read ahead, which may be the whole table.
            with pq.ParquetFile(self._sound(file), buffer_size=_READ_AT_ONCE, pre_buffer=False) as opened:
                yield from opened.iter_batches(batch_size=max_chunksize)

    def _sound(self, file: StoredFile) -> Path:
        if file.path not in self._checked:
            self._store.check(self._manifest, file)
            self._checked.add(file.path)
        return self._store.home.root / file.path
