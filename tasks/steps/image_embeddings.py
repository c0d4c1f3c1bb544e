"""The raw image embeddings of a dataset by a model, shard by shard."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dat_lib.backbones.extraction import SHARD_ROWS, Shard, extract, shard_numbers
from dat_lib.datasets.files.decoding import ImageFiles
from dat_lib.datasets.images import ChangedImage, ImageDataset, UnreadableImage, sample_name
from dat_lib.datasets.source import DataError
from tasks.engine.devices import chosen_devices
from tasks.engine.resource_settings import at_least
from tasks.loaders import open_dataset
from tasks.step import ShardedOutput, Work
from tasks.steps.weights import check_facts, open_backbone
from tasks.tables.columns import vector_column

SHARDED_BY = "files"
"""The input whose rows are cut into shards: where the rows of a shard are as they were, the shard is used again."""
_NAMED = 100
_FEW = 3


def compute(work: Work) -> ShardedOutput:
    """Yield one row per image that could be read; more unreadable ones than the tolerance fail the cell, and name them.

    Files that are not there are looked for before the model is opened. A shard with unreadable images is kept only
    within the tolerance, so that it is read again once they are mended.
    """
    summary: dict[str, Any] = {}
    return ShardedOutput(_shards(work, summary), summary)


def _shards(work: Work, summary: dict[str, Any]) -> Iterator[tuple[int, pa.Table]]:
    params, resources = work.params, work.resources
    files = work.inputs["files"]
    dataset = open_dataset(resources["dataset"], resources["root"])
    if isinstance(dataset, ImageFiles):
        dataset = replace(dataset, sha256=_digests(dataset, files))
    tolerance = params["tolerance"]
    if missing := _missing(dataset, tolerance):
        raise DataError(_complaint(missing, 0, tolerance))
    devices = chosen_devices(resources["device"])
    backbones = [open_backbone(params["backbone"], resources["weights"], device) for device in devices]
    check_facts(backbones[0], work.inputs["weights"])
    total = files.num_rows
    done, failed = sum(work.kept.values()), 0
    resumed, started = done, time.perf_counter()
    work.progress(done, total, failed)

    def progress(images: int, failures: int) -> None:
        nonlocal done, failed
        done, failed = done + images, failed + failures
        work.progress(done, total, failed)

    lost = sum(min(SHARD_ROWS, total - n * SHARD_ROWS) - rows for n, rows in work.kept.items())
    unreadable: list[UnreadableImage] = []
    for shard in extract(
        dataset,
        total,
        backbones,
        skip=work.kept,
        shard_rows=SHARD_ROWS,
        batch_size=at_least(1, "DAT_BATCH_SIZE", 64),
        workers=at_least(0, "DAT_WORKERS", min(4, os.cpu_count() or 1)),
        progress=progress,
    ):
        unreadable += shard.unreadable
        if changed := [problem for problem in shard.unreadable if isinstance(problem, ChangedImage)]:
            raise DataError(f"images have changed since the run began, such as {changed[0].file}; run again")
        _check_numbers(shard, files)
        if lost + len(unreadable) <= tolerance or not shard.unreadable:
            ids = files.column("sample_id").take(pa.array(shard.rows))
            yield shard.number, pa.table({"sample_id": ids, "embedding": vector_column(shard.vectors)})
    if lost + len(unreadable) > tolerance:
        raise DataError(_complaint(unreadable, lost, tolerance))
    seconds = time.perf_counter() - started
    summary.update(
        dimension=backbones[0].dimension,
        devices=devices,
        images=total,
        resumed_at=resumed,
        images_per_second=round((total - resumed) / seconds, 2) if seconds else None,
        shards=len(shard_numbers(total, SHARD_ROWS)),
        unreadable=[str(problem) for problem in unreadable],
        **_gpu_memory(devices),
    )


def _digests(dataset: ImageFiles, files: pa.Table) -> list[str | None]:
    """Return the digest that each image must still have; the files must be those that the dataset lists."""
    if files.column("file").to_pylist() != dataset.samples().files.tolist():
        raise DataError(f"{dataset.root}: lists other images than when the run began; run again")
    digests: list[str | None] = files.column("sha256").to_pylist()
    return digests


def _missing(dataset: ImageDataset, tolerance: int) -> list[UnreadableImage]:
    """Return the samples whose files are not there, if they are more than are tolerated."""
    if not isinstance(dataset, ImageFiles):
        return []
    absent = dataset.missing_files()
    rows = np.flatnonzero(np.isin(dataset.samples().files, absent))
    why = f"there is no such file in {dataset.root}"
    return [UnreadableImage(sample_name(dataset, row), why) for row in rows.tolist()] if len(rows) > tolerance else []


def _check_numbers(shard: Shard, files: pa.Table) -> None:
    """Refuse vectors that no method can use, before they are kept."""
    wrong = shard.rows[~np.isfinite(shard.vectors).all(axis=1) | ~shard.vectors.any(axis=1)]
    if len(wrong):
        names = files.column("sample_id").take(pa.array(wrong[:_FEW])).to_pylist()
        raise ValueError(
            f"the model gives {len(wrong)} vectors that are zero or not finite, such as those of {', '.join(names)}; "
            'where its precision is below "float32", set that'
        )


def _gpu_memory(devices: list[str]) -> dict[str, float]:
    import torch

    peaks = [torch.cuda.max_memory_allocated(device) for device in devices if device.startswith("cuda")]
    return {"peak_gpu_memory_mb": round(max(peaks) / 2**20, 1)} if peaks else {}


def _complaint(unreadable: list[UnreadableImage], lost: int, tolerance: int) -> str:
    named = "\n".join(f"  {problem}" for problem in unreadable[:_NAMED])
    more = f"\n  and {len(unreadable) - _NAMED} more" if len(unreadable) > _NAMED else ""
    return (
        f"{len(unreadable) + lost} images cannot be read, {tolerance} are tolerated:\n{named}{more}\n"
        "  mend or fetch them, or set `tolerance` under [source] in the dataset's spec"
    )
