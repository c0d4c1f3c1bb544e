"""Embeddings folders: vectors, prompts, and names that try to command what shows them."""

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from dat_lib.toyworld.simulation import simulate
from tests.conftest import PROMPTS, write_world
from tests.hostile import mutating
from tests.hostile.kinds.harmed_tables import harmed_table
from tests.hostile.kinds.kind import Kind, Words, harm_file, write_specs
from tests.hostile.outputs import faults_of_report
from tests.hostile.watching import Ran, World

IMPORT = ("import", "embeddings", "export", "--dataset", "birds", "--backbone", "my-clip")
RUN_BIRDS = ("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot", "--method", "dat")
_SIGNS = "<>&\"'`*_[](){}|\\$#^~%=+-@!:;,./ \n\r\tab\x1b\x7f\u202e\u2028é日"


class Embeddings(Kind):
    """Embeddings folders: the Parquet files, by their bytes and by what is in them."""

    name = "embeddings"

    def prepare(self, world: World) -> None:
        """A folder of 120 samples in 10 dimensions."""
        write_specs(world, {"methods/dat": "[datasets.birds]\nn = 4\nk = 2\n"})
        folder = world.work / "export"
        folder.mkdir(parents=True)
        write_world(folder, simulate(seed=3, dim=10, train=80, val=8, test=32))
        (folder / "prompts.toml").write_text('reference_split = "train"\ngroups = "class_attribute"\n' + PROMPTS)

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm one of the Parquet files."""
        path = world.work / "export" / chance.choice(("images.parquet", "texts.parquet"))
        if chance.random() < 0.08:
            mutating.displace(path, chance, world.folder / "outside.txt")
        elif chance.random() < 0.5:
            path.write_bytes(mutating.harmed_bytes(path.read_bytes(), chance))
        else:
            pq.write_table(harmed_table(pq.read_table(path), chance), path)

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Bring them in, and where that works, sometimes use them."""
        yield (*IMPORT, *chance.choice(((), ("--json",))))
        if (world.home / "specs/datasets/birds.toml").exists() and chance.random() < 0.3:
            yield RUN_BIRDS


class Prompts(Embeddings):
    """Prompt files."""

    name = "prompts"

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm the prompts of an embeddings folder."""
        harm_file(world.work / "export/prompts.toml", chance, mutating.harmed_toml, world)


class Names(Embeddings):
    """Names of classes and attributes, prompts and sample ids that try to command what shows them."""

    name = "names"
    limit = 120

    def harm(self, world: World, chance: random.Random) -> None:
        """Give classes, attributes and samples other names."""
        folder = world.work / "export"
        texts = [text for text in mutating.TEXTS if 0 < len(text) < 100] + [
            "".join(chance.choices(_SIGNS, k=12)) for _ in range(9)
        ]
        words = chance.sample(texts, 4)
        prompts = {
            "class": ["a photo of a landbird", "a photo of a waterbird"],
            "attribute": ["a photo with a land background", "a photo with a water background"],
            "group": [
                [f"a photo of a {bird} in {place}" for place in ("land", "water")] for bird in ("landbird", "waterbird")
            ],
        }
        spec = {"classes": words[:2], "attributes": words[2:], "source": words[0], "prompts": prompts}
        (folder / "prompts.toml").write_text(tomli_w.dumps(spec))
        images = pq.read_table(folder / "images.parquet")
        ids = [f"{chance.choice(texts)}{number}" for number in range(images.num_rows)]
        pq.write_table(images.set_column(0, "sample_id", pa.array(ids)), folder / "images.parquet")

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """From the import to the report."""
        yield IMPORT
        yield RUN_BIRDS
        yield ("sql", "SELECT * FROM group_accuracy")
        yield ("sql", "SELECT * FROM predictions", "--format", "csv")
        yield ("report", *RUN_BIRDS[1:])

    def judge(self, world: World, ran: Ran) -> Iterator[str]:
        """The report's files show the names and obey none of them."""
        if ran.words[0] == "report" and ran.code == 0:
            yield from faults_of_report(Path(ran.out.strip()).parent)
