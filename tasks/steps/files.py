"""The image files of a dataset, each with its digest: what embeddings depend on."""

import pyarrow as pa

from dat_lib.datasets.source import DataError
from tasks.loaders import open_dataset
from tasks.source_facts import facts_of, look_at_images
from tasks.step import Output, Work


def compute(work: Work) -> Output:
    """Return one row per sample; no digest for images that are drawn, missing or unreadable: extraction reports those.

    Digests are those of the last look, so nothing is read a second time.
    """
    if not work.facts:
        samples = open_dataset(work.params, work.resources["root"]).samples()
        rows: list[tuple[str, str, str | None]] = [(sample, "", None) for sample in samples.sample_ids.tolist()]
    else:
        seen = look_at_images(work.params, work.resources, lambda name, done, total: work.progress(done, total, 0))
        if facts_of("files", seen) != work.facts:
            raise DataError(f"{work.resources['root']}: images have changed since the run began; run again")
        rows = seen.rows()
    ids, files, digests = zip(*rows, strict=True)
    table = {
        "sample_id": pa.array(ids, pa.string()),
        "file": pa.array(files, pa.string()),
        "sha256": pa.array(digests, pa.string()),
    }
    missing = [file for _, file, digest in rows if file and digest is None]
    return Output(pa.table(table), {"missing": missing} if missing else {})
