"""Small worlds for tests that kill, damage and race the store: cells that cost nothing, and a pipeline in miniature.

Everything here can be imported by processes that tests start and kill.
"""

import fcntl
import importlib
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

import duckdb
from filelock import Timeout

from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.index.reader import query
from data_catalog.index.views import VIEWS
from data_catalog.planning.cell import Cell
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.planner import Planner, in_order
from data_catalog.specs.collection import Specs
from data_catalog.store.artifacts import Store
from data_catalog.store.locking import lock, sweep
from data_catalog.store.manifest import Manifest
from data_catalog.store.runs import recorded_run
from tasks.engine.computation import Bridge
from tasks.engine.events import Silence, listening
from tasks.engine.run import BenchmarkResult, run_benchmark
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph
from tests.data_catalog import counter_step

# What is imported and read when it is first used, so that processes forked from here are at work at once.
for _name in ("pyarrow.dataset", "pyarrow.parquet"):
    importlib.import_module(_name)
_CODE = CodeVersions()
_CODE.closure([counter_step.__name__])

_TINY = """
prompts = "simbirds"
[source]
kind = "simulated"
settings = { seed = 7, dim = 16, train = 200, val = 20, test = 80 }
"""


def run(home: Home, cells: Iterable[Cell], **more: Any) -> BenchmarkResult:
    """Bring cells up to date in this process; none may fail."""
    result = run_benchmark(cells, Store(home), request="test", **more)
    assert not result.failed, result.failed[0].error
    return result


def computed(result: BenchmarkResult) -> set[str]:
    """Return the names of the cells that a run has computed."""
    return {outcome.cell.name for outcome in result.outcomes if outcome.outcome == "computed"}


def settle(home: Home, cells: Iterable[Cell]) -> set[str]:
    """Bring cells up to date without a run's record and without the index; return the names of those computed."""
    home.prepare()
    store = Store(home)
    planner, bridge = Planner(store, _CODE), Bridge(store, _CODE)
    settled: dict[str, Manifest] = {}
    fresh = set()
    for cell in in_order(cells):
        parents = {role: settled[name] for role, name in cell.parents.items()}
        decision = planner.decide(cell, parents)
        if decision.action == "up to date" and decision.manifest is not None:
            settled[cell.name] = decision.manifest
        else:
            made = bridge.compute(decision, parents)
            settled[cell.name] = made.manifest
            fresh |= {cell.name} if made.outcome == "computed" else set()
    return fresh


def tiny_pipeline(home: Home, methods: Sequence[str] = ("zero_shot", "group_prompt")) -> list[Cell]:
    """Return the cells of a few methods on a small simulated dataset, which becomes known in the home."""
    spec = home.specs / "datasets" / "tiny.toml"
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.write_text(_TINY)
    specs = Specs.from_environment(home)
    experiments, _ = select(Selection(datasets=["tiny"], backbones=["simclip"], methods=methods), specs)
    return Graph(specs).cells(experiments)


def counters(count: int, log: Path | None = None, *, version: int = 1) -> list[Cell]:
    """Return cells that cost nothing, in groups of five, each made from the one before it; the second comes in shards.

    Each computation adds a line to `log`. Another `version` gives cells of the same names with other results.
    """
    return [_counter(number, log, version) for number in range(count)]


def _counter(number: int, log: Path | None, version: int) -> Cell:
    return Cell(
        step="counter",
        address={"dataset": f"n{number:04d}"},
        modules=(counter_step.__name__,),
        params={"number": number, "version": version, "shards": 3 if number % 5 == 1 else 1},
        parents={} if number % 5 == 0 else {"before": f"counter/n{number - 1:04d}"},
        resources={} if log is None else {"log": str(log)},
    )


def run_and_tell(home: Home, cells: Sequence[Cell], told: Connection) -> None:
    """Bring cells up to date, telling the name of each as its computation begins. For processes that get killed."""
    with listening(_Teller(told)):
        run(home, cells)


class _Teller(Silence):
    """Tells the name of each cell whose computation begins."""

    def __init__(self, told: Connection) -> None:
        self.told = told

    def started(self, cell: Cell) -> None:
        self.told.send(cell.name)


def killed_at_touch(number: int, home: Home, act: Callable[[Home], object]) -> None:
    """Act, but be killed just before the process touches a file below the home for the `number`-th time.

    Touching is to open for writing, link, rename, remove, lock or unlock; what libraries write in C++ goes unseen.
    """
    touches = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal touches
        if _touches_file(event, arguments, str(home.root)):
            touches += 1
            if touches == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    act(home)


def _touches_file(event: str, arguments: tuple[Any, ...], root: str) -> bool:
    if event == "fcntl.flock":
        return True
    if event == "open":
        path, _, flags = arguments
        return str(path).startswith(root) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    # Paths of what is removed with a whole folder are relative to it.
    relative = event in ("os.remove", "os.rmdir") and arguments[1] != -1
    named = event in ("os.link", "os.rename", "os.remove", "os.rmdir") and str(arguments[0]).startswith(root)
    return relative or named


def run_and_report(home: Home, cells: Sequence[Cell], told: Connection) -> None:
    """Bring cells up to date and tell how many had each outcome."""
    told.send(Counter(outcome.outcome for outcome in run(home, cells).outcomes))


def commit_and_report(home: Home, manifests: Sequence[Manifest], start: Barrier, told: Connection) -> None:
    """Commit manifests at the same moments as others do, and tell which content each key then had."""
    found = {}
    for manifest in manifests:
        start.wait()
        found[manifest.key] = Store(home).commit(manifest).content
    told.send(found)


def count_until(stop: Event, home: Home, told: Connection) -> None:
    """Ask for the number of artifacts again and again; tell all answers."""
    counts = []
    while not stop.wait(0.05):
        counts += query(home, "SELECT count(*) FROM artifacts").rows[0]
    told.send(counts)


def index_until(stop: Event, home: Home, told: Connection) -> None:
    """Update the index again and again; tell how often."""
    updates = 0
    while not stop.wait(0.5):
        update_index(home)
        updates += 1
    told.send(updates)


def compute_forever(home: Home, key: str, told: Connection) -> None:
    """Hold the lock of a key, leave something in its staging folder, tell, and stay until killed."""
    with Store(home).computing(key) as folder:
        (folder / "half.parquet").write_text("half")
        told.send("computing")
        signal.pause()


def contend(start: Barrier, path: Path, seconds: float, told: Connection) -> None:
    """Take a lock again and again for a time, and look whether its file is free between; tell how often it was held.

    Whoever holds it makes a file that must not be there, and removes it: an error where two hold it.
    """
    mark, rounds = path.with_suffix(".mark"), 0
    start.wait()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(Timeout), lock(path, wait=0):
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            rounds += 1
            mark.unlink()
        sweep(path.parent)
    told.send(rounds)


def run_forever(home: Home, told: Connection) -> None:
    """Begin a run, tell its number, and stay until killed."""
    with recorded_run(home, "run") as record:
        told.send(record.run_id)
        signal.pause()


def meddle_with_index(home: Home, other: Connection) -> None:
    """Open the index for writing and tell; when told, change it as no program should, tell, and stay until killed."""
    connection = duckdb.connect(str(home.index))
    other.send("open")
    other.recv()
    connection.execute("DELETE FROM store.artifacts")
    other.send("changed")
    signal.pause()


def keys(home: Home) -> set[tuple[str, str]]:
    """Return (step, key) of every visible artifact."""
    return set(Store(home).listing())


def contents(home: Home) -> dict[str, str]:
    """Return {cell: content digest} of every visible artifact."""
    found = {manifest.cell: manifest.content for manifest in Store(home).manifests()}
    assert len(found) == len(keys(home))
    return found


def results(home: Home) -> list[tuple[Any, ...]]:
    """Return the rows of `results` without times."""
    return query(home, "SELECT * EXCLUDE (created, run_id) FROM results ORDER BY ALL").rows


def answers(home: Home, views: Iterable[str] = VIEWS) -> dict[str, Any]:
    """Return all rows of the given views, in order, each view asked for by itself."""
    return {view: query(home, f"SELECT * FROM {view} ORDER BY ALL").rows for view in views}


def held_locks(home: Home) -> list[Path]:
    """Return the lock files that a living process holds; those of dead ones are left in their place."""
    return [path for path in home.locks.rglob("*.lock") if _is_held(path)]


def _is_held(path: Path) -> bool:
    with path.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def leftovers(home: Home) -> set[str]:
    """Return what killed processes have left behind: locks, work in progress, drafts, objects nobody refers to."""
    claimed = {home.root / file.path for manifest in Store(home).manifests() for file in manifest.files}
    found = [
        *home.locks.rglob("*.lock"),
        *home.staging.glob("*"),
        *home.manifests.rglob(".*"),
        *(path for place in (".*", "specs/*/.*", "stamps/.*", "reports/.*") for path in home.root.glob(place)),
        *(path for path in home.objects.glob("*/*") if path not in claimed),
    ]
    return {str(path.relative_to(home.root)) for path in found}
