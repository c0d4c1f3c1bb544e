"""No room or no leave to write: full disks, files that may not grow, folders that refuse, a disk gone read-only."""

import ctypes
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

from data_catalog.home import Home
from data_catalog.index.reader import index_condition
from tests.faults.fault import CannotTryError, Deed, begin
from tests.faults.world import Ran, World, committed, nothing, wait_for_share

_ENOUGH = 64 * 2**20
_ATTEMPTS = 100
_BLOCK = 4096
_INDEX_TOO = 10**6
"""A part of what the index takes beside all that is stored."""
_REFUSED = ("cannot be written", "cannot be locked", "cannot be read")
_LOOKING = (("status",), ("sql", "SELECT count(*) FROM results"), ("plan", "small"), ("ls", "datasets"), ("verify",))
_CAP_VERSION = 0x20080522
_CAP_MAY_WRITE_ANYWHERE = 0b1110  # DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER


@contextmanager
def full_disk(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Run on a disk of its own that has too little room, wherever that ends; then give it room."""
    stored = [path for path in world.undisturbed.root.rglob("*") if path != world.undisturbed.index]
    whole = sum(_BLOCK * -(-path.stat().st_size // _BLOCK) for path in stored)
    room = int(whole * chance.uniform(0.1, 1.2)) if chance.random() < 0.8 else _INDEX_TOO + whole
    with mounted(home, room):
        with world.reader(home) as reader:
            ran = world.dat(home, *world.words)
        _must_end(ran, deed)
        deed.complaints += reader.complaints
        deed.keep(home)
        deed.took_effect = ran.code != 0 or not home.index.exists()
        deed.what = f"a disk of {room:,} bytes ({ran.code}, {len(deed.kept)} kept): {ran.err.strip()[:300]}"
        if ran.code == 1 and "free some space" not in ran.err:
            deed.complaints.append(f"the error does not say that the disk is full: {ran.err}")
        mount("-o", f"remount,size={_ENOUGH}", home.root)
        yield


@contextmanager
def small_files(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Run where no file may grow beyond a limit."""
    sizes = sorted(path.stat().st_size for path in world.undisturbed.root.rglob("*") if path.is_file())
    limit = chance.choice(sizes) + chance.choice((-1, 0, 1, 100))
    story = begin(world, chance, home)
    with world.reader(home) as reader:
        ran = world.dat(home, *world.words, first=partial(limit_files, limit))
    _must_end(ran, deed)
    deed.complaints += reader.complaints
    deed.keep(home)
    deed.took_effect = ran.code != 0 or not home.index.exists() or home.index.stat().st_size > limit
    deed.what = f"{story}, no file over {limit:,} bytes ({ran.code}): {ran.err.strip()[:300]}"
    yield


def _must_end(ran: Ran, deed: Deed) -> None:
    """Complain unless a run is done, or says that the machine refuses; that is no failure of some cells."""
    deed.must_end(ran, 0, 1)
    if ran.code == 1 and ran.out.strip():
        deed.complaints.append(f"cells failed because the machine refuses: {ran.out[-1000:]}")


def limit_files(size: int) -> None:
    """Let no file of this process grow beyond a size."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@contextmanager
def unwritable(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Run with a folder that refuses to be written, from the beginning or from a moment on."""
    story = begin(world, chance, home)
    home.prepare()
    folder = _some_folder(world, chance, home)
    first, share = chance.random() < 0.4, chance.random()
    started = world.start(home, *world.words, first=partial(obey_permissions, folder if first else None))
    if not first:
        wait_for_share(world, home, started, share)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o555)
    ran = started.wait()
    deed.keep(home)
    deed.took_effect = ran.code == 1 or index_condition(home) != "current"
    look(world, chance, home, deed, first=partial(obey_permissions, None))
    folder.chmod(0o755)
    _must_end(ran, deed)
    if ran.code == 1 and not any(words in ran.err for words in _REFUSED):
        deed.complaints.append(f"the error does not say what cannot be written: {ran.err}")
    when = "from the start" if first else f"after {share:.0%} of what was missing"
    deed.what = f"{story}, {folder.relative_to(home.root.parent)} refuses {when} ({ran.code}): {ran.err.strip()[:300]}"
    yield


@contextmanager
def read_only(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Turn the whole disk read-only while a run is under way, as a kernel does after an error."""
    story, share = begin(world, chance, home), chance.random()
    with world.reader(home) as reader:
        started = world.start(home, *world.words)
        wait_for_share(world, home, started, share)
        with _refusing(home):
            deed.took_effect = not started.ended()
            ran = started.wait()
            deed.keep(home)
            look(world, chance, home, deed)
    _must_end(ran, deed)
    deed.what = f"{story}, read-only after {share:.0%} of what was missing ({ran.code}): {ran.err.strip()[:300]}"
    deed.complaints += reader.complaints
    yield


@contextmanager
def _refusing(home: Home) -> Iterator[None]:
    """Lay the home over itself, read-only: what is open for writing stays so, as the kernel would have it."""
    _must_be_root()
    for attempt in count():
        mount("--bind", home.root, home.root)
        try:
            mount("-o", "remount,bind,ro", home.root)
            break
        except CannotTryError:  # the run has just opened a file for writing
            _unmount(home)
            if attempt == _ATTEMPTS:
                raise
    try:
        yield
    finally:
        _unmount(home)


def _unmount(home: Home) -> None:
    subprocess.run(["umount", "--lazy", str(home.root)], check=True)


def look(world: World, chance: Random, home: Home, deed: Deed, first: Callable[[], object] = nothing) -> None:
    """Have one of the commands that only look answer, although nothing can be written."""
    words = chance.choice(_LOOKING)
    deed.complaints += [f"`dat {words[0]}`: {text}" for text in world.dat(home, *words, first=first).complaints(0)]


def _some_folder(world: World, chance: Random, home: Home) -> Path:
    steps = sorted({step for step, _ in committed(world.undisturbed)})
    below = chance.choice([home.objects, home.manifests]) / chance.choice(steps)
    whole = [home.root, home.objects, home.manifests, home.staging, home.locks, home.runs]
    return chance.choice([*whole, below, below])


def obey_permissions(folder: Path | None) -> None:
    """Have this process refused what its permissions forbid, also as root; then let `folder` refuse."""
    if os.geteuid() == 0:
        header = (ctypes.c_uint32 * 2)(_CAP_VERSION, 0)
        sets = (ctypes.c_uint32 * 6)()
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.capget(header, sets) == 0
        for place in (0, 1):  # effective and permitted, of the first 32
            sets[place] &= ~_CAP_MAY_WRITE_ANYWHERE
        assert libc.capset(header, sets) == 0
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o555)


@contextmanager
def mounted(home: Home, size: int) -> Iterator[None]:
    """Put a small disk under a home, with the specs that are in it."""
    _must_be_root()
    specs = home.root.with_name("specs of the home")
    shutil.move(home.specs, specs)
    mount("-t", "tmpfs", "-o", f"size={_ENOUGH}", "tmpfs", home.root)
    try:
        shutil.copytree(specs, home.specs)
        mount("-o", f"remount,size={size}", home.root)
        yield
    finally:
        _unmount(home)


def _must_be_root() -> None:
    if os.geteuid() != 0:
        raise CannotTryError("only root can mount a disk")


def mount(*words: str | Path) -> None:
    """Run `mount`; `CannotTryError` where it refuses."""
    try:
        subprocess.run(["mount", *map(str, words)], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise CannotTryError(f"no disk can be mounted here: {error.stderr.strip()}") from error
