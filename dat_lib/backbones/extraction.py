"""Image embeddings of a whole dataset: decoded and preprocessed in worker processes, embedded in batches, in shards.

A shard is a fixed run of rows, and batches never cross from one into the next, so an extraction that was interrupted
after some shards goes on with the others and gives the same vectors.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from multiprocessing.util import Finalize
from queue import Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dat_lib.arrays import FloatArray, IntArray
from dat_lib.backbones.worker_files import use_folder, worker_folder
from dat_lib.datasets.images import ImageDataset, UnreadableImage, sample_name
from dat_lib.density.threads import in_threads

if TYPE_CHECKING:
    import torch

    from dat_lib.backbones.backbone import Backbone, Preprocess

SHARD_ROWS = 4096


@dataclass(frozen=True)
class Shard:
    """One finished run of rows."""

    number: int
    rows: IntArray
    """Rows of the dataset that were embedded, ascending."""
    vectors: FloatArray
    """[len(rows), d] raw float32."""
    unreadable: tuple[UnreadableImage, ...]
    """Images of this run that could not be read, and so have no vector."""


def shard_numbers(rows: int, shard_rows: int = SHARD_ROWS) -> range:
    """Return the numbers of the shards that `rows` rows make."""
    return range(-(-rows // shard_rows))


def extract(
    dataset: ImageDataset,
    rows: int,
    backbones: Sequence[Backbone],
    *,
    skip: Iterable[int] = (),
    batch_size: int = 64,
    workers: int = 2,
    shard_rows: int = SHARD_ROWS,
    progress: Callable[[int, int], None] = lambda images, failures: None,
) -> Iterator[Shard]:
    """Embed rows 0 to `rows` - 1 of a dataset, shard by shard; the order of shards is not fixed with several backbones.

    Parameters
    ----------
    backbones
        The same model once for each device; they take shards in parallel.
    skip
        Shards that are there already.
    batch_size
        Images embedded at once; halved, and kept so, when a device runs out of memory.
    workers
        Processes that decode and preprocess for each backbone; 0 does it in this process.
    progress
        Called with the number of images settled since the last call, and of failures among them, possibly from
        several threads.
    """
    if batch_size < 1 or workers < 0 or shard_rows < 1:
        raise ValueError("batch_size and shard_rows must be at least 1, workers at least 0")
    done = set(skip)
    numbers = [number for number in shard_numbers(rows, shard_rows) if number not in done]
    runs = [(number, range(number * shard_rows, min((number + 1) * shard_rows, rows))) for number in numbers]
    alone = len(backbones) == 1
    with worker_folder() if workers else nullcontext("") as folder:
        streams = [
            _Stream(dataset, backbone, runs[start :: len(backbones)], batch_size, workers, folder, progress, alone)
            for start, backbone in enumerate(backbones)
        ]
        yield from streams[0].shards() if alone else _in_parallel(streams)


def _leave_parent_alone(folder: str, worker: int) -> None:
    """Free a worker process of what it inherits: how the program it was forked from ends, and is ended.

    An orchestrator waits for its threads before a program ends, but a forked process does not have them.
    """
    use_folder(folder)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Finalize(None, os._exit, args=(0,), exitpriority=0)


@dataclass
class _Stream:
    """The shards that one device works on."""

    dataset: ImageDataset
    backbone: Backbone
    runs: Sequence[tuple[int, range]]
    batch_size: int
    workers: int
    folder: str
    """For what the workers need while they work."""
    progress: Callable[[int, int], None]
    alone: bool
    """Whether all threads are this device's."""

    def __post_init__(self) -> None:
        self.at_once = self.batch_size
        """Images embedded at once: the batch size until memory runs out."""

    def shards(self) -> Iterator[Shard]:
        from torch.utils.data import DataLoader

        if not self.runs:
            return
        batches = [
            list(rows[start : start + self.batch_size])
            for _, rows in self.runs
            for start in range(0, len(rows), self.batch_size)
        ]
        loader: DataLoader[Any] = DataLoader(
            _Images(self.dataset, self.backbone.preprocess),  # type: ignore[arg-type]
            batch_sampler=batches,
            num_workers=self.workers,
            collate_fn=_collate,
            pin_memory=_on_gpu(self.backbone),
            worker_init_fn=partial(_leave_parent_alone, self.folder),
        )
        arriving = iter(loader)
        for number, rows in self.runs:
            parts = [self._embedded(next(arriving)) for _ in range(0, len(rows), self.batch_size)]
            yield Shard(
                number,
                np.concatenate([good for good, _, _ in parts]),
                np.concatenate([vectors for _, vectors, _ in parts]),
                tuple(bad for _, _, failures in parts for bad in failures),
            )

    def _embedded(self, batch: _Batch) -> tuple[IntArray, FloatArray, list[UnreadableImage]]:
        good, images, failures = batch
        vectors = np.empty((0, self.backbone.dimension), dtype=np.float32)
        if images is not None:
            vectors = self._encode(images)
        self.progress(len(good) + len(failures), len(failures))
        return np.array(good, dtype=np.int64), vectors, failures

    def _encode(self, images: torch.Tensor) -> FloatArray:
        import torch

        parts: list[FloatArray] = []
        start = 0
        while start < len(images):
            piece = images[start : start + self.at_once]
            try:
                parts += self._forward(piece)
            except RuntimeError as error:
                if len(piece) == 1 or not _out_of_memory(error):
                    raise
                self.at_once = len(piece) // 2
                torch.cuda.empty_cache()
                continue
            start += len(piece)
        return np.concatenate(parts)

    def _forward(self, images: torch.Tensor) -> list[FloatArray]:
        """Embed images at once; on a processor in parts, one per thread.

        Threads that share each operation wait for each other at its end. Beside processes that decode, one of them is
        always late, and the others burn the time that decoding needs.
        """
        import torch

        shares = torch.get_num_threads() if self.alone and not _on_gpu(self.backbone) else 1
        pieces = images.chunk(shares)
        vectors: list[FloatArray] = [np.empty(0, np.float32)] * len(pieces)

        def work(numbers: Iterable[int]) -> None:
            for number in numbers:
                vectors[number] = self.backbone.encode_images(pieces[number]).float().cpu().numpy()

        in_threads(work, range(len(pieces)))
        return vectors


_Batch: TypeAlias = "tuple[list[int], torch.Tensor | None, list[UnreadableImage]]"
"""Rows that were read, their images [B, 3, H, W] (None for none), and those that could not be read."""


@dataclass(frozen=True)
class _Images:
    """What a worker process does for one row."""

    dataset: ImageDataset
    preprocess: Preprocess

    def __getitem__(self, row: int) -> tuple[int, torch.Tensor | UnreadableImage]:
        try:
            image = self.dataset.open_image(row)
        except UnreadableImage as problem:
            return row, problem
        try:
            return row, self.preprocess(image)
        except (ValueError, OSError, ArithmeticError, RuntimeError) as error:
            # A library's preprocessing refuses an odd image in its own ways. A lack of memory is no image's fault.
            if _out_of_memory(error):
                raise
            why = f"the model's preprocessing fails: {error or type(error).__name__}"
            return row, UnreadableImage(sample_name(self.dataset, row), why)


def _collate(items: list[tuple[int, torch.Tensor | UnreadableImage]]) -> _Batch:
    import torch

    good = [(row, image) for row, image in items if not isinstance(image, UnreadableImage)]
    failures = [image for _, image in items if isinstance(image, UnreadableImage)]
    return [row for row, _ in good], torch.stack([image for _, image in good]) if good else None, failures


def _in_parallel(streams: Sequence[_Stream]) -> Iterator[Shard]:
    """Yield the shards of several devices as they finish; a failure in one ends all."""
    finished: Queue[Shard | BaseException | None] = Queue(maxsize=len(streams))
    stop = Event()

    def work(stream: _Stream) -> None:
        try:
            for shard in stream.shards():
                finished.put(shard)
                if stop.is_set():
                    return
            finished.put(None)
        except BaseException as error:
            finished.put(error)

    threads = [Thread(target=work, args=(stream,), daemon=True) for stream in streams]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        while running:
            item = finished.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                running -= 1
            else:
                yield item
    finally:
        stop.set()


def _out_of_memory(error: Exception) -> bool:
    """Whether a device has no room. The processor's has no exception of its own, only a message."""
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _on_gpu(backbone: Backbone) -> bool:
    return str(getattr(backbone, "device", "cpu")).startswith("cuda")
