"""Processes killed at any moment: nothing half-finished is ever visible, and the next run goes on from there."""

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.index.reader import index_condition, query
from data_catalog.planning.cell import Cell
from data_catalog.store.artifacts import Store
from data_catalog.store.garbage import collect
from data_catalog.store.verification import verify
from tests.data_catalog import worlds
from tests.data_catalog.worlds import computed, contents, counters, held_locks, keys, leftovers, run, settle

KILLS = 52


@pytest.mark.slow
def test_fifty_kills_in_the_middle_of_publishing_leave_sound_artifacts_and_only_the_missing_is_computed(
    processes: ForkServerContext, tmp_path: Path
) -> None:
    cells = counters(60)
    undisturbed = Home(tmp_path / "undisturbed")
    started = time.perf_counter()
    run(undisturbed, cells)
    pause = 5 * (time.perf_counter() - started) / len(cells)
    random_moment = random.Random(52)
    kills, seen = 0, Counter[str]()
    for number in count():
        home = Home(tmp_path / f"killed-{number}")
        while kills < KILLS and kill_a_run(processes, home, cells, random_moment.uniform(0, pause), seen):
            kills += 1
            assert verify(Store(home)).damaged == ()
            assert held_locks(home) == []
            assert keys(home) < keys(undisturbed)
        finished = {manifest.cell for manifest in Store(home).manifests()}
        assert computed(run(home, cells)) == {cell.name for cell in cells} - finished
        assert_same(home, undisturbed)
        assert_collection_leaves_nothing_behind(home)
        if kills == KILLS:
            break
    assert {"locks", "staging", "objects", "manifests"} <= seen.keys(), "the kills must have hit different phases"


def kill_a_run(processes: ForkServerContext, home: Home, cells: list[Cell], pause: float, seen: Counter[str]) -> bool:
    """Kill a run some time after its first computation began; whether it had work left."""
    before = leftovers(home)
    listen, tell = processes.Pipe(duplex=False)
    process = processes.Process(target=worlds.run_and_tell, args=(home, cells, tell), daemon=True)
    process.start()
    tell.close()
    try:
        listen.recv()
    except EOFError:
        process.join()
        assert process.exitcode == 0, "the run must not fail because others were killed"
        return False
    time.sleep(pause)
    process.kill()
    process.join()
    seen.update({path.partition("/")[0] for path in leftovers(home) - before})
    return process.exitcode == -signal.SIGKILL and len(keys(home)) < len(cells)


def assert_same(home: Home, undisturbed: Home) -> None:
    assert contents(home) == contents(undisturbed)
    question = "SELECT cell, key, content, rows, bytes FROM artifacts WHERE current ORDER BY ALL"
    answer = query(home, question)
    assert answer.rows == query(undisturbed, question).rows
    assert answer.index == "file"


def assert_collection_leaves_nothing_behind(home: Home) -> None:
    visible = contents(home)
    collect(home, ["orphans"], apply=True)
    assert leftovers(home) == set()
    assert contents(home) == visible
    assert verify(Store(home)).damaged == ()


def one_of_two(home: Home) -> None:
    run(home, counters(1))


def garbled(home: Home) -> None:
    """Two artifacts: the first has lost its file, the second's manifest is cut."""
    run(home, counters(2))
    first, second = sorted(Store(home).manifests(), key=lambda manifest: manifest.cell)
    (home.root / first.files[0].path).unlink()
    path = Store(home).manifest_path(second.step, second.key)
    path.write_bytes(path.read_bytes()[:-20])


def flipped(home: Home) -> None:
    """Two artifacts, each with a flipped bit."""
    run(home, counters(2))
    for path in home.objects.glob("*/*"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


def superseded(home: Home) -> None:
    """Two artifacts in two versions, and an object nobody refers to."""
    run(home, counters(2, version=2))
    run(home, counters(2))
    (home.objects / "counter" / "nobody.parquet").write_bytes(b"left by a killed run")


def unindexed(home: Home) -> None:
    settle(home, counters(2))


def run_both(home: Home) -> None:
    run(home, counters(2))


def settle_both(home: Home) -> None:
    settle(home, counters(2))


def set_aside(home: Home) -> None:
    verify(Store(home))


def set_aside_and_settle(home: Home) -> None:
    set_aside(home)
    settle_both(home)


def collect_superseded(home: Home) -> None:
    collect(home, ["superseded", "orphans"], apply=True)


def ask_and_index(home: Home) -> None:
    assert query(home, "SELECT count(*) FROM artifacts").rows == [(2,)]
    update_index(home)
    assert index_condition(home) == "current"
    assert not list(home.staging.glob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "act", "afterwards", "sound"),
    [
        pytest.param(one_of_two, run_both, settle_both, True, id="running"),
        pytest.param(garbled, settle_both, settle_both, False, id="healing"),
        pytest.param(flipped, set_aside, set_aside_and_settle, False, id="verifying"),
        pytest.param(superseded, collect_superseded, settle_both, True, id="collecting"),
        pytest.param(unindexed, update_index, ask_and_index, True, id="indexing"),
    ],
)
def test_killed_at_any_touch_of_a_file_it_leaves_nothing_that_the_next_attempt_does_not_put_right(
    processes: ForkServerContext,
    tmp_path: Path,
    before: Callable[[Home], None],
    act: Callable[[Home], None],
    afterwards: Callable[[Home], None],
    sound: bool,
) -> None:
    """`sound`: nothing was damaged before the kill, so nothing may be after it."""
    undisturbed, start = Home(tmp_path / "undisturbed"), Home(tmp_path / "start")
    settle(undisturbed, counters(2))
    expected = contents(undisturbed)
    before(start)
    for touch in count(1):
        home = Home(tmp_path / f"killed-{touch}")
        shutil.copytree(start.root, home.root)
        process = processes.Process(target=worlds.killed_at_touch, args=(touch, home, act), daemon=True)
        process.start()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        assert held_locks(home) == []
        if sound:
            assert verify(Store(home)).damaged == ()
        if process.exitcode == 0:
            break
        afterwards(home)
        assert verify(Store(home)).damaged == ()
        assert expected.items() <= {(manifest.cell, manifest.content) for manifest in Store(home).manifests()}
        garbage = {item.path for item in collect(home, ["orphans"])}
        assert {
            path for path in leftovers(home) if not path.startswith(("locks/", "staging/.catalog.draft"))
        } <= garbage
    assert touch > 4, "the process must have been killed at several steps of its way"
