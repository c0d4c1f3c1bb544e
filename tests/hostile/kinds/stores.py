"""The store itself, as somebody else may hand it on."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

from data_catalog.canonical import digest_text
from data_catalog.store.source_files import Listing, SourceFiles
from tests.hostile import mutating
from tests.hostile.kinds.kind import Kind, Words, write_specs
from tests.hostile.kinds.specs import SPECS
from tests.hostile.watching import World, dat


class Stores(Kind):
    """The store itself: manifests (also well sealed ones), run records, objects, specs, digests and the index."""

    name = "store"

    def prepare(self, world: World) -> None:
        """A home with finished runs, one of them forced."""
        write_specs(world, SPECS)
        for more in ((), ("--force",)):
            ran = dat(world, "run", "mine", "--method", "zero_shot", *more)
            assert ran.code == 0, ran.err
        spec = world.home / "specs/backbones/imported.toml"
        SourceFiles("toys", "here", world.home / "digests/dataset-toys.parquet").look(lambda: Listing(str(spec.parent)))
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
                path.write_bytes(_harmed_cache(path.read_text(), chance))
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


def _harmed_cache(text: str, chance: random.Random) -> bytes:
    """Return a cache with other content, whose digest above it, if it has one, fits or not."""
    seal, _, body = text.rpartition("\n{")
    harmed = mutating.harmed_json(f"{{{body}" if seal else text, chance)
    if not seal:
        return harmed
    fitting = digest_text(harmed.decode("utf-8", "replace"))
    return f"{chance.choice((seal, fitting))}\n".encode() + harmed


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
