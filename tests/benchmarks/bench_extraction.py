"""Extraction beside the bare forward pass and beside a plain open_clip loop, ViT-B/32 with random weights, real JPEGs.

python -m tests.benchmarks extraction
python tests/benchmarks/bench_extraction.py --images 256
"""

import argparse
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dat_lib.backbones.torchvision_import import import_torchvision
from dat_lib.datasets.decoding import read_image
from dat_lib.extraction import extract


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


def photographs(folder: Path, count: int = 24) -> Folder:
    """Write JPEGs of the size of photographs: noise that is smooth enough to compress as they do."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(count):
        coarse = Image.fromarray(rng.integers(0, 255, (30, 40, 3), dtype=np.uint8))
        coarse.resize((640, 480), Image.Resampling.BICUBIC).save(folder / f"{number}.jpg", quality=90)
    return Folder(folder, tuple(f"{number}.jpg" for number in range(count)))


def timed(work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=96)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    import_torchvision()
    import torch
    from torch.utils.data import DataLoader

    with tempfile.TemporaryDirectory() as name:
        folder = photographs(Path(name))
        model = Model()
        tensors = torch.stack([model.preprocess(folder.open_image(row)) for row in range(options.batch_size)])
        model.encode_images(tensors)

        def bare() -> None:
            for _ in range(0, options.images, options.batch_size):
                model.encode_images(tensors)

        def ours(images: int = options.images) -> None:
            for _ in extract(folder, images, [model], batch_size=options.batch_size, workers=options.workers):
                pass

        def plain() -> None:
            loader = DataLoader(_Plain(folder, model.preprocess, options.images), options.batch_size, num_workers=0)
            for batch in loader:
                model.encode_images(batch)

        seconds = {"bare forward pass": timed(bare), "extraction": timed(ours), "plain open_clip loop": timed(plain)}
        base = seconds["bare forward pass"]
        print(f"{options.images} images of 640 x 480, batches of {options.batch_size}, {options.workers} workers")
        for what, spent in seconds.items():
            print(f"{what:<22} {options.images / spent:7.2f} images/s   {base / spent:5.2f} of the bare forward pass")
        print("goal for extraction: 0.90 or more")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ours(3 * options.images)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"peak memory with three times as many images: {after / before:.3f} of the peak before")


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
