"""Extraction beside the bare forward pass and beside a plain open_clip loop, ViT-B/32 with random weights, real JPEGs.

python -m tests.benchmarks extraction
python tests/benchmarks/bench_extraction.py --images 256 --jpegs /data/photographs

The bare forward pass works on tensors already in memory, in both ways to use several cores: the threads of torch's
operations, and a part of the batch for each thread. The faster one is the measure. On a machine whose cores do both, an
extraction cannot be better than forward / (forward + decoding) of it, in processor time: the bound that is printed.
Each way is run in turn, several times over, so that a busy moment hits all of them.
"""

import argparse
import os
import resource
import statistics
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dat_lib.backbones.extraction import extract
from dat_lib.backbones.torchvision_import import import_torchvision
from dat_lib.datasets.files.decoding import read_image
from dat_lib.density.threads import in_threads
from tests.benchmarks.timing import Row, Timing, hand_on, measure, print_table, released

REAL = Path(__file__).parents[3] / "shared" / "data" / "covid-chestxray-small"


@dataclass(frozen=True)
class Folder:
    """The first images of a folder, again and again."""

    root: Path
    files: tuple[str, ...]

    def open_image(self, row: int):
        return read_image(self.root, self.files[row % len(self.files)])


class Model:
    """ViT-B/32 as extraction sees it."""

    def __init__(self) -> None:
        import open_clip
        import torch

        torch.manual_seed(0)
        self.model, _, self.preprocess = open_clip.create_model_and_transforms("ViT-B-32", pretrained=None)
        self.model.eval()
        self.dimension = 512

    def encode_images(self, batch):
        import torch

        with torch.inference_mode():
            return self.model.encode_image(batch)


def jpegs(folder: Path | None, made: Path) -> Folder:
    """Return the JPEGs below a folder, or where there is none, some that are made."""
    if folder is None or not folder.is_dir():
        return photographs(made)
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    return Folder(folder, tuple(str(path.relative_to(folder)) for path in found))


def photographs(folder: Path, count: int = 24) -> Folder:
    """Write JPEGs of the size of photographs: noise that is smooth enough to compress as they do."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(count):
        coarse = Image.fromarray(rng.integers(0, 255, (30, 40, 3), dtype=np.uint8))
        coarse.resize((640, 480), Image.Resampling.BICUBIC).save(folder / f"{number}.jpg", quality=90)
    return Folder(folder, tuple(f"{number}.jpg" for number in range(count)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--jpegs", type=Path, default=REAL, help="a folder of JPEGs; made up where it does not exist")
    options = parser.parse_args()
    import_torchvision()
    import torch
    from torch.utils.data import DataLoader

    with tempfile.TemporaryDirectory() as name:
        folder = jpegs(options.jpegs, Path(name))
        model = Model()
        batches = -(-options.images // options.batch_size)
        tensors = torch.stack([model.preprocess(folder.open_image(row)) for row in range(options.batch_size)])

        def bare() -> None:
            for _ in range(batches):
                model.encode_images(tensors)

        def bare_in_parts() -> None:
            parts = tensors.chunk(torch.get_num_threads())

            def work(numbers: Iterable[int]) -> None:
                for number in numbers:
                    model.encode_images(parts[number])

            for _ in range(batches):
                in_threads(work, range(len(parts)))

        def extraction(images: int = batches * options.batch_size) -> None:
            for _ in extract(folder, images, [model], batch_size=options.batch_size, workers=options.workers):
                pass

        def plain() -> None:
            images = _Plain(folder, model.preprocess, batches * options.batch_size)
            for batch in DataLoader(images, options.batch_size, num_workers=options.workers):
                model.encode_images(batch)

        def decoding() -> None:
            torch.set_num_threads(1)
            for row in range(batches * options.batch_size):
                model.preprocess(folder.open_image(row))

        ways = {
            "bare forward pass": bare,
            "the same, a part of the batch a thread": bare_in_parts,
            "extraction": extraction,
            "open_clip in a plain loop": plain,
        }
        bare()
        taken: dict[str, list[Timing]] = {way: [] for way in ways}
        for _ in range(options.repeat):
            for way, work in ways.items():
                taken[way].append(measure(work, repeat=1))
        wall = {way: statistics.median(timing.median for timing in timings) for way, timings in taken.items()}
        processor = {
            way: statistics.median(timing.processor_median for timing in timings) for way, timings in taken.items()
        }
        threads = torch.get_num_threads()
        decoded = measure(decoding, repeat=1).processor_median
        torch.set_num_threads(threads)
        fastest = min(list(ways)[:2], key=wall.__getitem__)
        images = batches * options.batch_size
        where = "made" if folder.root == Path(name) else f"of {folder.root}"
        print(f"{images} images, JPEGs {where}, batches of {options.batch_size}, {options.workers} workers")
        rows = [
            (way, images / wall[way], wall[fastest] / wall[way], 1000 * processor[way] / images, _spread(taken[way]))
            for way in ways
        ]
        columns = ("way", "images/s", "of the bare pass", "processor ms an image", "seconds")
        print_table(columns, rows)
        bound = processor[fastest] / (processor[fastest] + decoded)
        print(
            f"decoding and preprocessing: {1000 * decoded / images:.1f} ms an image; bound on these cores {bound:.2f}"
        )
        print("goal for extraction: 0.90 of the bare pass or more")
        before = _peak()
        extraction(3 * images)
        memory = _peak() / before
        print(f"peak memory with three times as many images: {memory:.3f} of the peak before")
        rate = {way: f"{images / wall[way]:.1f} images/s" for way in ways}
        loop, peer = "open_clip in a plain loop", released("open_clip_torch")
        bounded = f"decoding on the same processors bounds it at {bound:.2f}"
        hand_on(
            [
                Row(
                    "throughput of extraction over the bare forward pass",
                    rate["extraction"],
                    f"{released('torch')}: {rate[fastest]}",
                    wall[fastest] / wall["extraction"],
                    at_least=0.9,
                    note=bounded,
                ),
                Row(
                    "throughput of extraction over open_clip in a plain loop",
                    rate["extraction"],
                    f"{peer}: {rate[loop]}",
                    wall[loop] / wall["extraction"],
                ),
                Row(
                    "peak memory of extraction, three times the images",
                    f"{3 * images} images",
                    f"{images} images",
                    memory,
                    at_most=1.1,
                ),
            ]
        )


def _spread(timings: list[Timing]) -> str:
    return f"{min(t.median for t in timings):.1f}–{max(t.median for t in timings):.1f}"


def _peak() -> int:
    """Of this process and of the largest of its workers, whichever is larger counts for itself: their sum."""
    return sum(resource.getrusage(whose).ru_maxrss for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


@dataclass(frozen=True)
class _Plain:
    folder: Folder
    preprocess: object
    images: int

    def __len__(self) -> int:
        return self.images

    def __getitem__(self, row: int):
        return self.preprocess(self.folder.open_image(row))


if __name__ == "__main__":
    main()
