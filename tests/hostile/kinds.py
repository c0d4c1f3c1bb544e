"""What users bring, one class each: a valid world, a way to harm it, and the commands that read it."""

import io
import json
import random
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from data_catalog.canonical import digest_text
from tests.conftest import PROMPTS, write_images, write_texts
from tests.hostile import mutating
from tests.hostile.outputs import faults_of_report
from tests.hostile.watching import Ran, World, dat

Words = tuple[str, ...]

SECRET = "what-nobody-may-read"
SPECS = {
    "datasets/mine": 'title = "mine"\nprompts = "mine"\ngroups = "class_attribute"\nreference_split = "train"\n'
    '[source]\nkind = "simulated"\n[source.settings]\ndim = 10\ntrain = 80\nval = 8\ntest = 40\nseed = 1\n'
    "correlation = 0.8\n",
    "backbones/mine-clip": 'title = "mine"\nkind = "simulated"\ndimension = 10\nlogit_scale = 50.0\nlicence = "MIT"\n',
    "prompts/mine": 'source = "here"\n' + PROMPTS + '[prompts.tie]\nclass = ["a photo of a landbird", "a photo of a '
    'waterbird"]\nsource = "there"\n',
    "methods/dat": "[defaults]\nepsilon = 1e-8\n[datasets.mine]\nn = 4\nk = 2\nstrength = 2.0\n",
    "suites/mine": 'title = "mine"\n[[grid]]\ndatasets = ["mine"]\nbackbones = ["mine-clip"]\n'
    'methods = ["zero_shot", "dat"]\nseeds = [0, 1]\nprompts = ["mine"]\n[[grid]]\ndatasets = ["mine"]\n'
    'backbones = ["mine-clip"]\nmethods = ["dat"]\n[grid.set]\nk = [2, 3]\nterms = "both"\n'
    '[[diagnostics]]\ndatasets = ["mine"]\nbackbones = ["mine-clip"]\nkinds = ["shell", "margins"]\n'
    '[[theory]]\nchecks = ["cosine_ties"]\n[theory.set]\n',
}
BLOBS = {
    "datasets/blobs": 'prompts = "blobs"\n[source]\nkind = "sample_table"\nroot = "../../blobs"\ntolerance = 0\n'
    "[source.settings]\n",
    "backbones/tiny": 'kind = "transformers"\nweights = "../../models/tiny"\n',
    "prompts/blobs": 'classes = ["round", "square"]\nattributes = ["dark", "light"]\n[prompts]\nclass = "a {class}"\n'
    'attribute = "{a attribute} background"\ngroup = "a {class} on {attribute}"\n',
}
RUN_BLOBS = ("run", "--dataset", "blobs", "--backbone", "tiny", "--method", "zero_shot")
IMPORT = ("import", "embeddings", "export", "--dataset", "birds", "--backbone", "my-clip")
RUN_BIRDS = ("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot", "--method", "dat")


def write_specs(world: World, specs: dict[str, str]) -> None:
    """Write specs into the current folder of a world."""
    for name, text in specs.items():
        path = world.work / "specs" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Kind:
    """One kind of input."""

    name: ClassVar[str]
    limit: ClassVar[float] = 60
    """Seconds that one command may take, on a busy machine."""

    def prepare(self, world: World) -> None:
        """Write a valid world, from which every case starts."""

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm a copy of it."""

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Yield commands that read what was harmed."""
        raise NotImplementedError

    def judge(self, world: World, ran: Ran) -> Iterator[str]:
        """Yield what is wrong besides what is wrong for every command."""
        yield from ()

    def case(self, template: World, folder: Path, seed: int) -> list[Ran]:
        """Harm a copy of the template and run the commands; the same seed does the same again."""
        chance = random.Random(f"{self.name} {seed}")
        shutil.copytree(template.folder, folder, symlinks=True)
        world = World(folder)
        try:
            self.harm(world, chance)
            done = []
            for words in self.commands(world, chance):
                ran = self.run(world, words)
                more = tuple(self.judge(world, ran)) if not ran.faults else ()
                done.append(Ran(ran.words, ran.code, ran.out, ran.err, ran.faults + more))
            return done
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def run(self, world: World, words: Words) -> Ran:
        """Run one command."""
        return dat(world, *words, limit=self.limit)


def harm_file(path: Path, chance: random.Random, change: Callable[[str, random.Random], bytes], world: World) -> None:
    """Change what is in a text file, or put something else in its place."""
    if chance.random() < 0.12:
        mutating.displace(path, chance, world.folder / "outside.txt")
    else:
        path.write_bytes(change(path.read_text(), chance))


class Specs(Kind):
    """TOML specs of every kind."""

    name = "specs"

    def prepare(self, world: World) -> None:
        """Five specs of one simulated dataset."""
        write_specs(world, SPECS)

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm one of them, or its name."""
        path = world.work / "specs" / f"{chance.choice(list(SPECS))}.toml"
        if chance.random() < 0.05:
            name = chance.choice(
                ("..toml", "a b.toml", "[red]x.toml", "\x1b[31m.toml", "a\n.toml", "x" * 240 + ".toml")
            )
            shutil.copy(path, path.with_name(name))
        else:
            harm_file(path, chance, mutating.harmed_toml, world)

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Check, plan, list and sometimes run them."""
        yield ("validate", *chance.choice(((), ("--json",), ("specs/suites/mine.toml",))))
        yield ("plan", "mine", *chance.choice(((), ("--json",), ("--all",))))
        yield ("ls", chance.choice(("datasets", "backbones", "methods", "prompts", "suites")))
        if chance.random() < 0.1:
            yield ("run", "mine", "--method", "zero_shot")


class Embeddings(Kind):
    """Embeddings folders: the Parquet files, by their bytes and by what is in them."""

    name = "embeddings"

    def prepare(self, world: World) -> None:
        """A folder of 120 samples in 10 dimensions."""
        from dat_lib.simulation import simulate

        write_specs(world, {"methods/dat": "[datasets.birds]\nn = 4\nk = 2\n"})
        folder = world.work / "export"
        folder.mkdir(parents=True)
        drawn = simulate(seed=3, dim=10, train=80, val=8, test=32)
        write_images(
            folder,
            sample_id=drawn.sample_ids.tolist(),
            split=drawn.split.tolist(),
            label=drawn.labels.tolist(),
            attribute=drawn.attributes.tolist(),
            embedding=list(drawn.embeddings),
        )
        vectors = drawn.prompt_vectors
        write_texts(folder, list(vectors), list(vectors.values()))
        (folder / "prompts.toml").write_text('reference_split = "train"\ngroups = "class_attribute"\n' + PROMPTS)

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm one of the Parquet files."""
        path = world.work / "export" / chance.choice(("images.parquet", "texts.parquet"))
        if chance.random() < 0.08:
            mutating.displace(path, chance, world.folder / "outside.txt")
        elif chance.random() < 0.5:
            path.write_bytes(mutating.harmed_bytes(path.read_bytes(), chance))
        else:
            pq.write_table(_harmed_table(pq.read_table(path), chance), path)

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


def _harmed_table(table: pa.Table, chance: random.Random) -> pa.Table:
    """Return a table with other types, values, names or numbers of rows."""
    column = chance.randrange(table.num_columns)
    name = table.column_names[column]
    values = table.column(column).to_pylist()
    row = chance.randrange(len(values))

    def other(array: pa.Array) -> pa.Table:
        return table.set_column(column, name, array)

    match chance.randrange(12):
        case 0:
            return table.drop_columns([name])
        case 1:
            return table.append_column(name, table.column(column))
        case 2:
            return other(pa.nulls(len(values)))
        case 3:
            kinds = (pa.string(), pa.large_string(), pa.binary(), pa.int8(), pa.float64(), pa.list_(pa.string()))
            kind = chance.choice(kinds)
            try:
                return other(table.column(column).cast(kind))
            except pa.ArrowException:
                return other(pa.nulls(len(values), kind))
        case 4:
            return other(table.column(column).dictionary_encode()) if name != "embedding" else table.slice(0, 0)
        case 5:
            return pa.concat_tables([table] * 50)
        case 6:
            return table.slice(0, chance.choice((0, 1, 2)))
        case 7:
            return table.rename_columns([chance.choice(mutating.TEXTS) if c == name else c for c in table.column_names])
        case 8 if name == "embedding":
            kinds = (pa.float16(), pa.float64(), pa.int32(), pa.list_(pa.float32()))
            kind = chance.choice(kinds)
            vectors = [[vector] if pa.types.is_list(kind) else vector for vector in values]
            if pa.types.is_integer(kind):
                vectors = [[int(number) for number in vector] for vector in values]
            if kind == pa.float16():
                vectors = [np.asarray(vector, dtype=np.float16) for vector in values]
            return other(pa.array(vectors, pa.list_(kind)))
        case 9 if name == "embedding":
            width = len(values[0])
            return other(pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(values), pa.float32()), width))
        case _:
            for place in (row, chance.randrange(len(values))):
                values[place] = _other_cell(values[place], chance)
            return other(pa.array(values, table.schema.field(column).type))


def _other_cell(value: Any, chance: random.Random) -> Any:
    if isinstance(value, str):
        return chance.choice((*mutating.TEXTS, None))
    if isinstance(value, int):
        return chance.choice((-1, 2, 2**31, 2**63 - 1, -(2**63), None))
    if chance.random() < 0.3:
        return chance.choice(([], None, value[:-1], value * 1000, [None] * len(value)))
    numbers = (float("nan"), float("inf"), 0.0, 3e38, 1e-45, -3e38, None)
    return [chance.choice(numbers) if chance.random() < 0.3 else number for number in value]


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

                table = _harmed_table(arrow_csv.read_csv(path), chance)
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


class Models(Tables):
    """Model files: configs, tokenizers, weights as safetensors and as pickles, of both libraries."""

    name = "models"

    def prepare(self, world: World) -> None:
        """The tiny model also as a pickle, and one of open_clip with its config."""
        super().prepare(world)
        import torch
        from safetensors.torch import load_file

        from tests.dat_lib.backbones.small_models import (
            _OPEN_CLIP,
            OPENAI_LIKE,
            add_small_open_clip_models,
            save_checkpoint,
            small_open_clip,
        )

        tiny = world.work / "models/tiny"
        torch.save(load_file(tiny / "model.safetensors"), tiny / "pytorch_model.bin")
        folder = world.work / "models/open"
        folder.mkdir()
        add_small_open_clip_models(world.folder / "home")
        save_checkpoint(small_open_clip("small-vit"), folder / "open_clip_pytorch_model.bin")
        config = {"model_cfg": _OPEN_CLIP["small-vit"], "preprocess_cfg": OPENAI_LIKE}
        (folder / "open_clip_config.json").write_text(json.dumps(config))
        for path in world.home.iterdir():
            path.unlink()
        write_specs(world, {"backbones/open": 'kind = "open_clip"\nweights = "../../models/open"\n[settings]\n'})

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm one file of one of the models."""
        self.chosen = chance.choice(("tiny", "tiny", "open"))
        folder = world.work / "models" / self.chosen
        if self.chosen == "tiny":
            unused = chance.choice(("pytorch_model.bin", "model.safetensors"))
            (folder / unused).unlink()
        path = chance.choice(sorted(folder.iterdir()))
        if chance.random() < 0.1:
            mutating.displace(path, chance, world.folder / "outside.txt")
        elif path.suffix == ".json" and chance.random() < 0.8:
            path.write_bytes(mutating.harmed_json(path.read_text(), chance))
        elif path.suffix == ".bin" and chance.random() < 0.3:
            import torch

            torch.save(mutating.harmed_tree({"a": [1, 2], "b": {"state_dict": {"c": 1.0}}}, chance), path)
        else:
            path.write_bytes(mutating.harmed_bytes(path.read_bytes(), chance))

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Embed with it."""
        yield tuple(self.chosen if word == "tiny" else word for word in RUN_BLOBS)


class Stores(Kind):
    """The store itself: manifests (also well sealed ones), run records, objects, specs, digests and the index."""

    name = "store"

    def prepare(self, world: World) -> None:
        """A home with finished runs, one of them forced."""
        write_specs(world, SPECS)
        for more in ((), ("--force",)):
            ran = dat(world, "run", "mine", "--method", "zero_shot", *more)
            assert ran.code == 0, ran.err
        (world.home / "digests.json").write_text(json.dumps({"/a": [[1, 2], "x"]}))
        spec = world.home / "specs/backbones/imported.toml"
        spec.parent.mkdir(parents=True)
        spec.write_text('kind = "precomputed"\n')

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm one to three files of it."""
        files = sorted(path for path in world.home.rglob("*") if path.is_file() and path.stat().st_size)
        for _ in range(chance.choice((1, 1, 2, 3))):
            kinds = sorted({path.relative_to(world.home).parts[0] for path in files})
            kind = chance.choice([*kinds, *(often for often in ("manifests", "manifests", "runs") if often in kinds)])
            path = chance.choice([path for path in files if path.relative_to(world.home).parts[0] == kind])
            files.remove(path)
            if chance.random() < 0.1:
                mutating.displace(path, chance, world.folder / "outside.txt")
            elif kind == "manifests" and chance.random() < 0.8:
                path.write_text(_resealed(path.read_text(), chance, world.folder / "outside.txt"))
            elif kind == "runs" and chance.random() < 0.8:
                lines = path.read_text().splitlines()
                line = chance.randrange(len(lines))
                lines[line] = mutating.harmed_json(lines[line], chance).decode("utf-8", "replace")
                path.write_text("\n".join(lines) + "\n")
            elif path.suffix == ".json":
                path.write_bytes(mutating.harmed_json(path.read_text(), chance))
            elif path.suffix == ".toml":
                path.write_bytes(mutating.harmed_toml(path.read_text(), chance))
            else:
                path.write_bytes(mutating.harmed_bytes(path.read_bytes(), chance))

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Look at it, keep it in order, and go on with it."""
        views = ("artifacts", "lineage", "runs", "decisions", "costs", "results", "predictions", "leaderboard", "drift")
        offered: list[Words] = [
            ("status",),
            ("status", "--json"),
            ("verify",),
            ("verify", "--json"),
            ("plan", "mine"),
            ("why", "zero_shot"),
            ("why", "samples", "--json"),
            ("gc", "--scope", "superseded", "--scope", "orphans", "--scope", "quarantine", "--apply"),
            ("catalog", "rebuild"),
            ("ls", "backbones"),
            ("validate",),
            *(
                ("sql", f"SELECT * FROM {view}", "--format", form)
                for view in views
                for form in ("table", "json", "csv")
            ),
        ]
        yield from chance.sample(offered, 3)
        if chance.random() < 0.15:
            yield ("run", "mine", "--method", "zero_shot")
        if chance.random() < 0.03:
            yield ("report", "mine", "--method", "zero_shot")


def _resealed(text: str, chance: random.Random, outside: Path) -> str:
    """Return a manifest that says something else, with the digest that belongs to it."""
    data = json.loads(text)
    del data["digest"]
    if chance.random() < 0.15:
        data["files"][0]["path"] = chance.choice(("../outside.txt", str(outside), "..", "", "a/../../outside.txt"))
        data["files"][0]["sha256"] = "0" * 64
    else:
        data = mutating.harmed_tree(data, chance)
    body = json.dumps(data, indent=1, ensure_ascii=False)
    return f'{body.removesuffix(chr(10) + "}")},\n "digest": "{digest_text(body)}"\n}}\n'


class Archives(Tables):
    """Archives of datasets, with names, members and sizes that no honest archive has."""

    name = "archives"

    def harm(self, world: World, chance: random.Random) -> None:
        """Put an archive where the COVID-19 dataset's is looked for."""
        place = world.home / "data/covid/covid-chestxray-dataset.zip"
        place.parent.mkdir(parents=True)
        place.write_bytes(_archive(chance))
        if chance.random() < 0.4:
            place.write_bytes(mutating.harmed_bytes(place.read_bytes(), chance))

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Ask for the dataset."""
        yield ("run", "--dataset", "covid", "--backbone", "tiny", "--method", "zero_shot")


def _archive(chance: random.Random) -> bytes:
    """Return a tar or zip archive of a dataset with some strange members."""
    names = (*(text[:3000] for text in mutating.TEXTS), "a/" * 1200 + "x", "metadata.csv", "metadata.csv/x", ".", "./.")
    table = b"finding,sex,view,filename\nPneumonia/Viral/COVID-19,M,PA,a.png\nNone,F,AP,../../outside.png\n"
    members = [("metadata.csv", table), ("images/a.png", b"no image")]
    members += [(chance.choice(names), b"x") for _ in range(chance.randrange(4))]
    chance.shuffle(members)
    data = io.BytesIO()
    if chance.random() < 0.4:
        with zipfile.ZipFile(data, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
            for name, content in members:
                info = zipfile.ZipInfo(name or "x")
                kinds = (stat.S_IFREG, stat.S_IFREG, stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO)
                info.external_attr = (chance.choice(kinds) | 0o777) << 16
                archive.writestr(info, content)
        return data.getvalue()
    mode = chance.choice(("w", "w:gz", "w:xz", "w:bz2"))
    with tarfile.open(fileobj=data, mode=mode, format=chance.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT))) as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o7777
            if chance.random() < 0.15:
                kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE, b"Z")
                member.type, member.size = chance.choice(kinds), 0
                member.linkname = chance.choice(("metadata.csv", "/proc/version", "..", "../../../outside.txt"))
            if chance.random() < 0.1:
                member.pax_headers = {"path": chance.choice(names), "size": str(chance.choice((0, 10**12, -1)))}
            try:
                tar.addfile(member, io.BytesIO(content))
            except (OSError, ValueError):
                continue
    return data.getvalue()


class Questions(Kind):
    """SQL, from the command line and from the shell."""

    name = "questions"

    def prepare(self, world: World) -> None:
        """A home with a run, and a secret beside it."""
        write_specs(world, SPECS)
        assert dat(world, "run", "mine", "--method", "zero_shot").code == 0
        (world.work / "secret.csv").write_text(f"a\n{SECRET}\n")

    def harm(self, world: World, chance: random.Random) -> None:
        """Have the index there, or damaged, or not at all."""
        index = world.home / "catalog.duckdb"
        match chance.randrange(3):
            case 0:
                index.unlink()
            case 1:
                index.write_bytes(mutating.harmed_bytes(index.read_bytes(), chance))
        self.secret = str(chance.choice((world.work / "secret.csv", "secret.csv", world.home / "../work/secret.csv")))

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Ask four questions."""
        for _ in range(4):
            yield ("sql", _question(chance, self.secret, world), "--format", chance.choice(("table", "csv", "json")))

    def run(self, world: World, words: Words) -> Ran:
        """Ask on the command line, or one question out of four in the shell."""
        if len(words[1]) % 4:
            return super().run(world, words)
        return dat(world, "sql", "--shell", *words[2:], limit=self.limit, stdin=words[1] + ";\n")

    def judge(self, world: World, ran: Ran) -> Iterator[str]:
        """Nothing is learnt and nothing is written, not even in the home."""
        if SECRET in ran.out + ran.err:
            yield "told a secret"
        strangers = {path.name for path in world.home.rglob("stolen*")}
        if strangers:
            yield f"wrote {', '.join(strangers)}"


def _question(chance: random.Random, secret: str, world: World) -> str:
    stolen = chance.choice((str(world.home / "stolen.csv"), str(world.home / "manifests/stolen.json"), "stolen.csv"))
    readers = ("read_csv", "read_text", "read_blob", "read_parquet", "read_json", "glob", "sniff_csv", "parquet_scan")
    sources = (
        *(f"{reader}('{secret}')" for reader in readers),
        f"'{secret}'",
        f"read_csv(['{secret}'])",
        f"query('SELECT * FROM read_text(''{secret}'')')",
        f"read_duckdb('{secret}')",
        "results",
        "artifacts",
        "duckdb_settings()",
        "duckdb_secrets()",
        "enable_logging('all', storage = 'file', storage_path = 'stolen')",
        "range(10)",
        "information_schema.tables",
        "pragma_database_size()",
    )
    source = chance.choice(sources)
    reading = chance.choice((f"SELECT * FROM {source}", f"FROM {source}", f"SELECT (SELECT count(*) FROM {source})"))
    writing = chance.choice(
        (
            f"COPY ({reading}) TO '{stolen}'",
            f"CREATE TABLE stolen AS {reading}",
            f"ATTACH '{stolen}' AS x",
            f"EXPORT DATABASE '{stolen}'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "PRAGMA enable_profiling",
            "DELETE FROM store.artifacts",
        )
    )
    spoken = chance.choice(
        (
            reading,
            f"EXPLAIN ANALYZE {writing}",
            f"EXPLAIN {writing}",
            f"EXPLAIN (ANALYZE) {writing}",
            f"/* */ EXPLAIN ANALYZE {writing}",
            f"WITH x AS ({reading}) SELECT * FROM x",
            writing,
            f"{reading}; {writing}",
            f"SUMMARIZE {reading}",
            f"DESCRIBE {reading}",
            f"PIVOT ({reading}) ON 1",
        )
    )
    if chance.random() < 0.2:
        return mutating.harmed_bytes(spoken.encode(), chance).decode("utf-8", "replace").replace("\0", "\\0")
    return spoken


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


_SIGNS = "<>&\"'`*_[](){}|\\$#^~%=+-@!:;,./ \n\r\tab\x1b\x7f\u202e\u2028é日"

KINDS: dict[str, Kind] = {
    kind.name: kind()
    for kind in (Specs, Prompts, Embeddings, Tables, Images, Models, Stores, Archives, Questions, Names)
}
