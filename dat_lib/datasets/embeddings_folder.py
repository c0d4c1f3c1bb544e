"""Embeddings that somebody has already: a folder with `images.parquet` and `texts.parquet`.

`images.parquet`: sample_id (text), split ("train", "val" or "test"), label and attribute (integers), embedding (list
of floats). `texts.parquet`: prompt (text), embedding. Everything is checked before anything is used, and each message
names the file, the column and the sample.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dat_lib.arrays import FloatArray, IdArray, IntArray
from dat_lib.datasets.files.bounded_reading import check_width, read_parquet
from dat_lib.datasets.registry import DatasetKind
from dat_lib.datasets.source import SPLITS, DataError, Samples

KIND = DatasetKind("embeddings_folder", gives="embeddings")
IMAGES = "images.parquet"
TEXTS = "texts.parquet"
PROMPTS = "prompts.toml"


class EmbeddingsFolder:
    """Embeddings in a folder. Digests, where given, are those the files must still have."""

    def __init__(
        self,
        folder: Path,
        *,
        n_classes: int,
        n_attributes: int,
        images_sha256: str | None = None,
        texts_sha256: str | None = None,
    ) -> None:
        self.folder = folder
        self._sizes = {"label": n_classes, "attribute": n_attributes}
        self._digests = {IMAGES: images_sha256, TEXTS: texts_sha256}

    def samples(self) -> Samples:
        """Return all samples; ids are distinct, splits known, labels and attributes in range."""
        table = self._read(IMAGES, ["sample_id", "split", "label", "attribute"])
        path = self.folder / IMAGES
        ids = _texts(table, "sample_id", path)
        split = _texts(table, "split", path)
        unknown = ~np.isin(split, SPLITS)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise DataError(f'{path}: sample {ids[row]} has the split "{split[row]}"; known are: {", ".join(SPLITS)}')
        _distinct(ids, "sample_id", path)
        labels, attributes = (self._indices(table, name, ids) for name in ("label", "attribute"))
        return Samples(ids, split, labels, attributes)

    def images(self) -> FloatArray:
        """Return [P, d] raw image embeddings, in the order of the samples."""
        table = self._read(IMAGES, ["sample_id", "embedding"])
        path = self.folder / IMAGES
        return _vectors(table, _texts(table, "sample_id", path), path)

    def texts(self, prompts: Sequence[str]) -> FloatArray:
        """Return the vectors of `prompts`; a `DataError` names those that have none."""
        table = self._read(TEXTS, ["prompt", "embedding"])
        path = self.folder / TEXTS
        known = _texts(table, "prompt", path)
        _distinct(known, "prompt", path)
        vectors = _vectors(table, known, path)
        rows = {prompt: row for row, prompt in enumerate(known.tolist())}
        missing = [prompt for prompt in prompts if prompt not in rows]
        if missing:
            shown = ", ".join(f'"{prompt}"' for prompt in missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise DataError(f"{path}: no vector for the prompt {shown}{more}, which {PROMPTS} names")
        return vectors[[rows[prompt] for prompt in prompts]]

    def _indices(self, table: Any, name: str, ids: IdArray) -> IntArray:
        import pyarrow as pa

        path = self.folder / IMAGES
        column = table.column(name)
        if not pa.types.is_integer(column.type):
            raise DataError(f"{path}: column {name} holds {column.type}, expected integers")
        _no_nulls(column, name, path)
        values: IntArray = column.to_numpy().astype(np.int64)
        wrong = (values < 0) | (values >= self._sizes[name])
        if wrong.any():
            row = int(np.argmax(wrong))
            last = self._sizes[name] - 1
            raise DataError(f"{path}: sample {ids[row]} has the {name} {values[row]}; {PROMPTS} names 0 to {last}")
        return values

    def _read(self, name: str, columns: list[str]) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / name
        if not self.folder.is_dir():
            raise DataError(f"{self.folder}: there is no such folder")
        if not path.is_file():
            raise DataError(f"{path}: there is no such file; expected {IMAGES}, {TEXTS} and {PROMPTS} in the folder")
        self._unchanged(path)
        try:
            known = pq.read_schema(path).names
            missing = [column for column in columns if column not in known]
            if missing:
                raise DataError(f"{path}: no column {', '.join(missing)}; there are: {', '.join(known)}")
            table = read_parquet(path, columns)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path}: cannot be read as Parquet: {error}") from error
        if not table.num_rows:
            raise DataError(f"{path}: has no rows")
        return table

    def _unchanged(self, path: Path) -> None:
        expected = self._digests[path.name]
        if expected is not None and file_sha256(path) != expected:
            raise DataError(f"{path}: has changed since it was imported; import the folder again")


def open_source(folder: str, **settings: Any) -> EmbeddingsFolder:
    """Open a folder of embeddings."""
    return EmbeddingsFolder(Path(folder), **settings)


def file_sha256(path: Path) -> str:
    """Return the digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _no_nulls(column: Any, name: str, path: Path) -> None:
    if column.null_count:
        raise DataError(f"{path}: column {name} has {column.null_count} empty values")


def _texts(table: Any, name: str, path: Path) -> IdArray:
    import pyarrow as pa

    column = table.column(name)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise DataError(f"{path}: column {name} holds {column.type}, expected text")
    _no_nulls(column, name, path)
    texts = column.to_pylist()
    check_width(texts, name, path)
    return np.array(texts, dtype=np.str_)


def _distinct(values: IdArray, name: str, path: Path) -> None:
    known, counts = np.unique(values, return_counts=True)
    if (counts > 1).any():
        first = known[int(np.argmax(counts > 1))]
        raise DataError(f'{path}: {name} "{first}" occurs {counts.max()} times; each must occur once')


def _vectors(table: Any, names: IdArray, path: Path) -> FloatArray:
    """Return the embedding column as [rows, d] float32: equal lengths, finite, none of length zero."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column("embedding").combine_chunks()
    if not hasattr(column.type, "value_type") or not pa.types.is_floating(column.type.value_type):
        raise DataError(f"{path}: column embedding holds {column.type}, expected lists of floats")
    _no_nulls(column, "embedding", path)
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    if (lengths != lengths[0]).any():
        row = int(np.argmax(lengths != lengths[0]))
        raise DataError(f"{path}: {names[row]} has {lengths[row]} values, but {names[0]} has {lengths[0]}")
    if not lengths[0]:
        raise DataError(f"{path}: the embeddings are empty")
    flat = column.flatten()
    _no_nulls(flat, "embedding", path)
    vectors = np.asarray(flat.to_numpy(zero_copy_only=False), dtype=np.float32).reshape(len(lengths), -1)
    broken = ~np.isfinite(vectors).all(axis=1)
    if broken.any():
        raise DataError(
            f"{path}: {broken.sum()} embeddings hold NaN or infinity, first {names[int(np.argmax(broken))]}"
        )
    zero = ~vectors.any(axis=1)
    if zero.any():
        raise DataError(f"{path}: {zero.sum()} embeddings have zero norm, first {names[int(np.argmax(zero))]}")
    return vectors
