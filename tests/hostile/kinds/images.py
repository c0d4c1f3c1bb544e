"""Datasets of images: the tables that list them, and the files."""

import random
from collections.abc import Iterator

import numpy as np
import pyarrow.parquet as pq

from tests.hostile import mutating
from tests.hostile.kinds.harmed_tables import harmed_table
from tests.hostile.kinds.kind import Kind, Words, harm_file, write_specs
from tests.hostile.watching import World

BLOBS = {
    "datasets/blobs": 'prompts = "blobs"\n[source]\nkind = "sample_table"\nroot = "../../blobs"\ntolerance = 0\n'
    "[source.settings]\n",
    "backbones/tiny": 'kind = "transformers"\nweights = "../../models/tiny"\n',
    "prompts/blobs": 'classes = ["round", "square"]\nattributes = ["dark", "light"]\n[prompts]\nclass = "a {class}"\n'
    'attribute = "{a attribute} background"\ngroup = "a {class} on {attribute}"\n',
}
RUN_BLOBS = ("run", "--dataset", "blobs", "--backbone", "tiny", "--method", "zero_shot")


class Tables(Kind):
    """CSV and Parquet files that list images, and folders that do."""

    name = "tables"

    def prepare(self, world: World) -> None:
        """Eight images in a CSV file, and a tiny model."""
        from PIL import Image

        from tests.dat_lib.backbones.small_models import save_small_transformers

        write_specs(world, BLOBS)
        root = world.work / "blobs"
        root.mkdir()
        random_pixels, lines = np.random.default_rng(0), ["file,label,attribute,split,sample_id"]
        for row in range(8):
            Image.fromarray(random_pixels.integers(0, 255, (40, 30, 3), dtype=np.uint8)).save(root / f"{row}.png")
            lines.append(
                f"{row}.png,{('round', 'square')[row % 2]},{row // 2 % 2},{('train', 'test')[row // 4]},s{row}"
            )
        (root / "samples.csv").write_text("\n".join(lines) + "\n")
        save_small_transformers("clip", world.work / "models/tiny")

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm the table, as CSV or as Parquet, or its spec; or have folders in its place."""
        root = world.work / "blobs"
        path, spec = root / "samples.csv", world.work / "specs/datasets/blobs.toml"
        match chance.randrange(10):
            case 0 | 1 | 2 | 3 | 4:
                harm_file(path, chance, mutating.harmed_csv, world)
            case 5 | 6:
                from pyarrow import csv as arrow_csv

                table = harmed_table(arrow_csv.read_csv(path), chance)
                pq.write_table(table, root / "samples.parquet")
                if chance.random() < 0.5:
                    listed = root / "samples.parquet"
                    listed.write_bytes(mutating.harmed_bytes(listed.read_bytes(), chance))
                spec.write_text(spec.read_text() + 'table = "samples.parquet"\n')
            case 7 | 8:
                harm_file(spec, chance, mutating.harmed_toml, world)
            case 9:
                spec.write_text('prompts = "blobs"\n[source]\nkind = "image_folder"\nroot = "../../blobs"\n')
                path.unlink()
                for image in sorted(root.glob("*.png")):
                    parts = ["test", "round", "dark", image.name]
                    if chance.random() < 0.2:
                        name = chance.choice(
                            [text[:200] for text in mutating.TEXTS if "/" not in text and "\0" not in text]
                        )
                        parts[chance.randrange(4)] = name or "x"
                    target = root.joinpath(*parts)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    if not target.exists():
                        image.rename(target)

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Plan, and embed."""
        yield ("plan", *RUN_BLOBS[1:])
        yield (*RUN_BLOBS, *chance.choice(((), ("--json",))))


class Images(Tables):
    """Image files of every format that is read, all of them harmed at once."""

    name = "images"

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm the bytes of images of all formats; most of them may be left out."""
        from PIL import Image

        root, lines = world.work / "blobs", ["file,label,attribute,split"]
        for row in range(24):
            ending = chance.choice(("png", "jpg", "tif", "webp", "gif", "bmp", "ppm", "jp2"))
            path = root / f"new{row}.{ending}"
            with Image.open(root / "0.png") as picture:
                mode = chance.choice(("RGB", "L", "P", "1", "RGBA", "CMYK", "I;16", "F"))
                try:
                    picture.convert("L" if mode == "I;16" else mode).convert(mode).save(path)
                except (OSError, ValueError, KeyError):
                    picture.save(path)
            if chance.random() < 0.1:
                mutating.displace(path, chance, world.folder / "outside.txt")
            elif chance.random() < 0.9:
                path.write_bytes(mutating.harmed_bytes(path.read_bytes(), chance))
            lines.append(f"{path.name},{row % 2},{row // 2 % 2},{('train', 'test')[row % 2]}")
        lines += [f"{row}.png,{row % 2},{row // 2 % 2},{('train', 'test')[row // 4]}" for row in range(8)]
        (root / "samples.csv").write_text("\n".join(lines) + "\n")
        spec = world.work / "specs/datasets/blobs.toml"
        spec.write_text(spec.read_text().replace("tolerance = 0", f"tolerance = {chance.choice((0, 2, 24, 24, 24))}"))

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Embed them."""
        yield RUN_BLOBS
