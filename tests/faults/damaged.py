"""Files of every kind, cut, emptied, overwritten or with flipped bits, also several at once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from data_catalog.home import Home
from tests.data_catalog import worlds
from tests.faults.fault import CannotTryError, Deed
from tests.faults.killed import die_at_touch
from tests.faults.world import World
from tests.warm_processes import warm_processes


@contextmanager
def damaged_files(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Harm one to three files of the kinds that lie in a finished home; `dat verify` is to name the stored ones."""
    world.fill(home)
    deed.keep(home)
    harmed = set()
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.choice(sorted(_KINDS))
        path = chance.choice(_KINDS[kind](home))
        harmed.add(path)
        deed.what += f"{kind} {path.relative_to(home.root)} {_harm(path, chance)}; "
    with world.reader(home) as reader:
        first = chance.choice(("verify", "run", "rebuild"))
        deed.what += f"then first `dat {first}`"
        if first == "run":
            deed.must_end(world.dat(home, *world.words), 0)
        elif first == "rebuild":
            deed.must_end(world.dat(home, "catalog", "rebuild"), 0)
        verified = world.dat(home, "verify")
    deed.complaints += [text for text in reader.complaints if "have become" not in text]
    stored = [path for path in harmed if path.is_relative_to(home.objects) or path.is_relative_to(home.manifests)]
    deed.must_end(verified, 0, 1)
    if first != "run":
        unnamed = [path for path in stored if str(path.relative_to(home.root)) not in verified.out]
        deed.complaints += [f"`dat verify` does not name {path}" for path in unnamed]
    deed.took_effect = bool(harmed)
    # What was set aside is gone until the rerun, which has to bring it back with the same content.
    deed.must_be_back, deed.kept = deed.kept, {}
    yield


@contextmanager
def damaged_spec(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Harm a spec: a run says so or computes what the spec now says, and with the spec restored all is as before."""
    world.fill(home)
    deed.keep(home)
    path = chance.choice(sorted(home.specs.rglob("*.toml")))
    intact = path.read_bytes()
    harm = _harm(path, chance)
    with world.reader(home) as reader:
        ran = world.dat(home, *world.words)
    deed.complaints += reader.complaints
    deed.must_end(ran, 0, 1, 2)
    if ran.code == 2 and path.name not in ran.err and path.stem not in ran.err:
        deed.complaints.append(f"the error does not name {path.name}: {ran.err}")
    path.write_bytes(intact)
    deed.took_effect = True
    deed.what = f"{path.name} {harm} ({ran.code}): {ran.err.strip()[:300]}"
    yield


@contextmanager
def damaged_leftovers(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Kill a run while it has a shard and locks, and harm what it leaves."""
    touch = chance.randrange(5, 300)
    ran = world.dat(home, *world.words, first=partial(die_at_touch, touch, home))
    deed.must_end(ran, 0, -signal.SIGKILL)
    deed.keep(home)
    left = [home.root / path for path in sorted(worlds.leftovers(home))]
    files = [path for place in left for path in (sorted(place.rglob("*")) if place.is_dir() else [place])]
    for path in filter(Path.is_file, files):
        deed.what += f"{path.relative_to(home.root)} {_harm(path, chance)}; "
        deed.took_effect = True
    deed.what = f"killed at touch {touch}; {deed.what}"
    yield


@contextmanager
def damaged_log(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Leave a real write-ahead log beside the index, as a killed program of somebody else's does, and harm it."""
    world.fill(home)
    deed.must_end(world.dat(home, "catalog", "rebuild"), 0)
    deed.keep(home)
    here, there = warm_processes().Pipe()
    process = warm_processes().Process(target=worlds.meddle_with_index, args=(home, there), daemon=True)
    process.start()
    there.close()  # so that one that dies is noticed
    here.recv()
    here.send("go on")
    here.recv()
    process.kill()
    process.join()
    log = home.index.with_name(f"{home.index.name}.wal")
    if not log.exists():
        raise CannotTryError("DuckDB left no log")
    deed.what = f"the log {_harm(log, chance)}"
    deed.took_effect = True
    with world.reader(home) as reader:
        deed.must_end(world.dat(home, "status"), 0)
    deed.complaints += reader.complaints
    yield


def _objects(home: Home) -> list[Path]:
    return sorted(home.objects.glob("*/*"))


def _manifests(home: Home) -> list[Path]:
    return sorted(home.manifests.glob("*/*"))


def _records(home: Home) -> list[Path]:
    return sorted(home.runs.iterdir())


def _index(home: Home) -> list[Path]:
    return [home.index]


_KINDS: dict[str, Callable[[Home], list[Path]]] = {
    "object": _objects,
    "manifest": _manifests,
    "record": _records,
    "index": _index,
}


def _harm(path: Path, chance: Random) -> str:
    """Harm a file in one of several ways; say which."""
    content = bytearray(path.read_bytes())
    size = len(content)
    kind = chance.choice(("flipped", "flipped", "cut", "emptied", "zeroed", "noise", "longer"))
    if kind in ("flipped", "zeroed") and not size:
        kind = "longer"
    place = chance.randrange(size) if size else 0
    if kind == "flipped":
        places = [place, *(chance.randrange(size) for _ in range(chance.choice((0, 0, 3))))]
        for one in places:
            content[one] ^= 1 << chance.randrange(8)
        told = f"flipped at {places}"
    elif kind == "cut":
        content, told = content[:place], f"cut to {place}"
    elif kind == "emptied":
        content, told = bytearray(), "emptied"
    elif kind == "zeroed":
        length = min(4096, size - place)
        content[place : place + length], told = bytes(length), f"zeroed from {place}"
    elif kind == "noise":
        content, told = bytearray(chance.randbytes(size or 10)), "overwritten with noise"
    else:
        content, told = content + chance.randbytes(20), "with 20 bytes more"
    # As another file in its place: the fault is not to harm what copies or links share with it.
    path.unlink()
    path.write_bytes(content)
    return told
