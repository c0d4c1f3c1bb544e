"""A small dataset of images that is edited at random, as people edit theirs, and what a run over it decided on."""

import os
import random
import shutil
from pathlib import Path

from PIL import Image

from data_catalog.home import Home
from data_catalog.index.reader import query
from tests.flows.small_images import add_backbone, add_dataset, add_dataset_spec

ROWS = 24


class EditedImages:
    """A dataset of `ROWS` images below a folder, its specs and a tiny model."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random, self.names = folder, random.Random(seed), ["blobs"]
        self.root = add_dataset(folder, "blobs", ROWS, seed, size=(16, 16))
        add_backbone(folder, "tiny", seed=0)

    def edit(self) -> str:
        """Change something at random and say what."""
        name = self.random.choice(["replace", "swap", "rename", "touch", "rewrite", "relabel", "copy"])
        getattr(self, name)()
        return name

    def images(self, count: int) -> list[Path]:
        return self.random.sample(sorted(self.root.glob("*.png")), count)

    def replace(self) -> None:
        for image in self.images(self.random.randint(1, 3)):
            Image.new("RGB", (16, 16), tuple(self.random.randbytes(3))).save(image)

    def swap(self) -> None:
        one, other = self.images(2)
        aside = self.root / "aside"
        one.rename(aside)
        other.rename(one)
        aside.rename(other)

    def rename(self) -> None:
        (image,) = self.images(1)
        new = f"renamed-{self.random.randrange(10**6)}.png"
        image.rename(self.root / new)
        table = self.root / "samples.csv"
        table.write_text(table.read_text().replace(f"\n{image.name},", f"\n{new},"))

    def touch(self) -> None:
        for image in self.images(5):
            image.touch()

    def rewrite(self) -> None:
        """Change a byte of an image and leave its size and time as they were."""
        (image,) = self.images(1)
        pixels = Image.open(image).convert("RGB")
        status = image.stat()
        pixels.putpixel((0, 0), tuple(self.random.randbytes(3)))
        pixels.save(image)
        os.utime(image, ns=(status.st_atime_ns, status.st_mtime_ns))

    def relabel(self) -> None:
        table = self.root / "samples.csv"
        lines = table.read_text().splitlines()
        row = self.random.randrange(1, len(lines))
        lines[row] = lines[row].replace("round", "?").replace("square", "round").replace("?", "square")
        table.write_text("\n".join(lines) + "\n")

    def copy(self) -> None:
        """Go on with a copy of the dataset, under another name."""
        self.names.append(f"copy{len(self.names)}")
        shutil.copytree(self.root, self.folder / self.names[-1])
        self.root = self.folder / self.names[-1]
        add_dataset_spec(self.folder, self.names[-1])

    def request(self) -> list[str]:
        """Return the command that runs DAT on the dataset under its present name."""
        settings = ["--method", "dat", "--set", "n=2", "--set", "k=1"]
        return ["run", "--dataset", self.names[-1], "--backbone", "tiny", *settings, "--json"]


def decided(home: Home) -> dict[str, tuple[str, str]]:
    """What the last run decided on, by step and method: the key of an artifact and what it says."""
    asked = """SELECT d.step || ' ' || d.method, d.key, a.content FROM decisions d JOIN artifacts a USING (key)
    WHERE d.run_id = (SELECT max(run_id) FROM runs)"""
    return {cell: (key, content) for cell, key, content in query(home, asked).rows}
