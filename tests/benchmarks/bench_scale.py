"""What one billion images and a hundred backbones would cost with this design, from unit costs measured here.

Each unit is measured on a small case that runs for seconds, then multiplied: the products are extrapolations, and say
so. What grows with cells is measured on a synthetic store, what grows with images on tables and vectors of real shape.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import torch

from dat_lib.backbones.extraction import SHARD_ROWS
from dat_lib.backbones.torchvision_import import import_torchvision
from dat_lib.estimator import DAT
from dat_lib.toyworld.simulation import simulate
from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.planning.planner import Planner
from data_catalog.store.artifacts import Store
from data_catalog.store.content import content_digest
from data_catalog.store.file_digest import file_digest
from data_catalog.store.manifest import StoredFile
from tests.benchmarks.synthetic_store import predictions_table, synthetic_store
from tests.benchmarks.timing import Row, hand_on, print_table

IMAGES, BACKBONES, METHODS, DIM = 10**9, 100, 19, 768
CELLS_A_BACKBONE = 5 + 3 * METHODS
"""Of samples, weights and embeddings; predictions, metrics and a comparison of each method."""
YEAR = 365 * 86_400


@dataclass(frozen=True)
class Unit:
    """What one of something costs, in bytes or seconds, and how many there would be."""

    name: str
    cost: float
    kind: str
    count: float

    @property
    def total(self) -> float:
        return self.cost * self.count


def main() -> None:
    """Measure the units and print what they come to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=3000, help="of the store that planner and index are timed on")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        units = [*_of_tables(Path(folder)), *_of_cells(arguments.cells), *_of_vectors()]
    shown = [
        (unit.name, _told(unit.cost, unit.kind), f"{unit.count:.3g}", _told(unit.total, unit.kind)) for unit in units
    ]
    print(f"{IMAGES:.0e} images, {BACKBONES} backbones, {METHODS} methods; totals are extrapolated, on this machine")
    print_table(("unit", "measured", "times", "total"), shown)
    total = {unit.name: unit.total for unit in units}
    memory = IMAGES * DIM * 4
    print(f"\nstorage: {_told(sum(u.total for u in units if u.kind == 'B'), 'B')}, nearly all of it embeddings")
    print(
        f"what breaks first: to choose references, the training images of one backbone are read whole, up to "
        f"{_told(memory, 'B')}, and copied a group at a time: they outgrow memory here at "
        f"{_told_count(_memory() / (DIM * 8))} images. So do TIE, centring and whitening, which look at them too; "
        "scoring by DAT goes block by block (memory flat, see streaming)\n"
        "  mend: sum up what they take from the training images block by block, and herd among some thousands of "
        "candidates a group, drawn by the seed"
    )
    print(
        f"what breaks next: a manifest lists its shards: {IMAGES // SHARD_ROWS:,} of them, "
        f"{_told(total['manifest entry of a shard'] / BACKBONES, 'B')} of JSON read by every plan of a backbone, and "
        f"{_told(total['file of a shard looked for by a plan'], 's')} to look for the files of all\n"
        "  mend: shards of a million rows, or a tree of manifests, one for each thousand shards"
    )
    print(
        f"what takes longest: the forward pass, {total['forward pass, ViT-B/32'] / YEAR:,.0f} years of this machine: "
        "GPUs, as many workers as there are, each with its own range of shards"
    )
    embedding = next(unit for unit in units if unit.name == "embedding on disk")
    hand_on(
        [
            Row(
                "bytes on disk of an embedding over its bare floats",
                f"{embedding.cost:.0f} B",
                f"{DIM} float32: {DIM * 4} B",
                embedding.cost / (DIM * 4),
                note=f"{_told(embedding.total, 'B')} for a billion images and {BACKBONES} backbones",
            )
        ]
    )


def _of_tables(folder: Path) -> list[Unit]:
    """Write tables as the store does, and see how large they are and how long checking them takes."""
    store = Store(Home(folder))
    store.home.prepare()
    rng = np.random.default_rng(0)
    ids = [f"{number:09d}.jpg" for number in range(SHARD_ROWS)]
    flat = pa.array(rng.normal(size=SHARD_ROWS * DIM).astype(np.float32))
    embeddings = pa.table({"sample_id": ids, "embedding": pa.FixedSizeListArray.from_arrays(flat, DIM)})
    sizes, seconds = {}, {}
    for name, table in (("embeddings", embeddings), ("predictions", predictions_table(100_000, 0))):
        place = folder / name
        place.mkdir()
        started = time.perf_counter()
        store.keep_shard(place, 0, table)
        content_digest(table)
        (path,) = place.iterdir()
        seconds[name] = (time.perf_counter() - started) / table.num_rows
        sizes[name] = path.stat().st_size / table.num_rows
        started = time.perf_counter()
        file_digest(path)
        seconds[f"check {name}"] = (time.perf_counter() - started) / table.num_rows
    shards = IMAGES / SHARD_ROWS * BACKBONES
    rows = IMAGES * BACKBONES
    file = StoredFile(f"objects/image_embeddings/{'0' * 64}.parquet", "0" * 64, 10**7, SHARD_ROWS)
    entry = len(json.dumps([asdict(file)], indent=1))
    started = time.perf_counter()
    for _ in range(10_000):
        path.stat()
    look = (time.perf_counter() - started) / 10_000
    return [
        Unit("embedding on disk", sizes["embeddings"], "B", rows),
        Unit("prediction on disk", sizes["predictions"], "B", rows * METHODS),
        Unit("manifest entry of a shard", entry, "B", shards),
        Unit("embedding written and digested", seconds["embeddings"], "s", rows),
        Unit("embedding checked before it is read", seconds["check embeddings"], "s", rows),
        Unit("file of a shard looked for by a plan", look, "s", shards),
    ]


def _of_cells(cells: int) -> list[Unit]:
    """Plan and index a synthetic store in this process."""
    with synthetic_store(cells) as store:
        count = sum(1 for _ in store.publish())
        started = time.perf_counter()
        asked = store.cells()
        Planner(Store(store.home)).plan(asked)
        planning = (time.perf_counter() - started) / count
        started = time.perf_counter()
        update_index(store.home, anew=True)
        indexing = (time.perf_counter() - started) / count
        size = sum(path.stat().st_size for path in store.home.manifests.rglob("*.json")) / count
    number = BACKBONES * CELLS_A_BACKBONE
    return [
        Unit("cell planned", planning, "s", number),
        Unit("manifest indexed", indexing, "s", number),
        Unit("manifest on disk", size, "B", number),
    ]


def _of_vectors() -> list[Unit]:
    """Score Waterbirds-shaped queries with DAT, and embed a few images by a model with random weights."""
    world = simulate(seed=0, dim=DIM)
    train = world.part("train")
    model = DAT().fit(
        world.embeddings[train],
        world.labels[train],
        world.attributes[train],
        class_text=world.text["class"],
        group_text=world.text["group"],
    )
    queries = np.resize(world.embeddings, (50_000, DIM))
    model.predict(queries[:1000])
    started = time.perf_counter()
    model.predict(queries)
    scoring = (time.perf_counter() - started) / len(queries)
    return [
        Unit("query scored by DAT, 4 groups of 56", scoring, "s", IMAGES * BACKBONES),
        Unit("forward pass, ViT-B/32", _forward_pass(), "s", IMAGES * BACKBONES),
    ]


def _forward_pass() -> float:
    import_torchvision()
    import open_clip

    torch.manual_seed(0)
    model = open_clip.create_model("ViT-B-32", pretrained=None).eval()
    batch = torch.rand(32, 3, 224, 224)
    with torch.inference_mode():
        model.encode_image(batch)
        started = time.perf_counter()
        for _ in range(3):
            model.encode_image(batch)
    return (time.perf_counter() - started) / (3 * len(batch))


def _memory() -> int:
    import psutil

    return int(psutil.virtual_memory().total)


def _told(value: float, kind: str) -> str:
    if kind == "B":
        for unit in ("B", "kB", "MB", "GB", "TB"):
            if value < 1000 or unit == "TB":
                return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.2g} {unit}"
            value /= 1000
    if value >= YEAR:
        return f"{value / YEAR:,.1f} years"
    for unit, seconds in (("days", 86_400), ("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-4)):
        if value >= seconds:
            return f"{value / (1e-3 if unit == 'ms' else seconds):.2g} {unit}"
    return f"{value * 1e6:.2g} µs"


def _told_count(value: float) -> str:
    return f"{value / 1e6:,.0f} million"


if __name__ == "__main__":
    main()
