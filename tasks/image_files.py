"""The image files of a dataset, each with its digest: what embeddings hang on."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from dat_lib.datasets.embeddings_folder import file_sha256
from tasks.loading import open_dataset
from tasks.step import Output, Work

_THREADS = 8


def compute(work: Work) -> Output:
    """Return one row a sample; no digest for images that are drawn, missing or unreadable: extraction reports those."""
    dataset = open_dataset(work.params, work.resources["root"])
    samples = dataset.samples()
    root = getattr(dataset, "root", None)
    with ThreadPoolExecutor(_THREADS) as pool:
        digests = list(pool.map(lambda file: _digest(root, file), samples.files.tolist()))
    table = {
        "sample_id": pa.array(samples.sample_ids.tolist(), pa.string()),
        "file": pa.array(samples.files.tolist(), pa.string()),
        "sha256": pa.array(digests, pa.string()),
    }
    missing = [file for file, digest in zip(samples.files.tolist(), digests, strict=True) if file and digest is None]
    return Output(pa.table(table), {"missing": missing} if missing else {})


def _digest(root: Path | None, file: str) -> str | None:
    path = root / file if root is not None and file else None
    try:
        return file_sha256(path) if path is not None and path.is_file() else None
    except OSError:
        return None
