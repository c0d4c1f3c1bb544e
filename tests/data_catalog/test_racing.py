"""Many processes at once: each key is computed once, nothing is lost, no reader fails, locks die with their holders."""

from collections import Counter
from dataclasses import replace
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.store.artifacts import Store
from data_catalog.store.garbage import SCOPES, collect
from data_catalog.store.locking import held
from data_catalog.store.manifest import Manifest
from data_catalog.store.verification import verify
from tests.data_catalog import worlds
from tests.data_catalog.worlds import computed, contents, counters, held_locks, keys, leftovers, run

ARTIFACTS = 1500
PROCESSES = 8


@pytest.mark.slow
def test_eight_processes_publish_1500_artifacts_while_a_reader_never_fails(
    processes: ForkServerContext, start, home: Home, tmp_path: Path
) -> None:
    log = tmp_path / "computed"
    cells = counters(ARTIFACTS, log)
    stop = processes.Event()
    home.prepare()
    reader = start(worlds.count_until, stop, home)
    indexer = start(worlds.index_until, stop, home)
    # The first forty cells are everybody's, each of the others is wanted by two processes.
    shares = [
        [cell for number, cell in enumerate(cells) if number < 40 or number // 5 % 4 == process % 4]
        for process in range(PROCESSES)
    ]
    writers = [start(worlds.run_and_report, home, share) for share in shares]
    outcomes = sum((writer.told() for writer in writers), Counter[str]())
    stop.set()
    counts, updates = reader.told(), indexer.told()

    assert outcomes["computed"] == ARTIFACTS
    assert outcomes["adopted"] > 0, "two processes must have wanted the same key at the same time"
    assert outcomes.total() == sum(map(len, shares))
    assert sorted(map(int, log.read_text().split())) == list(range(ARTIFACTS)), "each key is computed once"
    assert contents(home).keys() == {cell.name for cell in cells}
    assert verify(Store(home)).damaged == ()
    assert leftovers(home) == set()

    assert counts == sorted(counts)
    assert len(set(counts)) > 5, "the reader must have seen the store grow"
    assert updates > 1
    answer = query(home, "SELECT cell, key, content, current FROM artifacts")
    assert answer.index == "file"
    manifests = list(Store(home).manifests())
    assert set(answer.rows) == {(manifest.cell, manifest.key, manifest.content, True) for manifest in manifests}
    assert len(answer.rows) == ARTIFACTS
    assert query(home, "SELECT count(*) FROM lineage").rows == [(ARTIFACTS * 4 // 5,)]
    assert query(home, "SELECT count(*) FROM decisions").rows == [(outcomes.total(),)]
    assert query(home, "SELECT run_id, status FROM runs ORDER BY ALL").rows == [
        (f"r{number:06d}", "done") for number in range(1, PROCESSES + 1)
    ]


def test_of_several_processes_that_commit_the_same_key_one_wins_and_all_return_its_manifest(
    processes: ForkServerContext, start, home: Home
) -> None:
    home.prepare()
    barrier = processes.Barrier(4)
    rivals = [
        start(
            worlds.commit_and_report,
            home,
            [manifest(f"{key:064x}", content=f"of {rival}") for key in range(100)],
            barrier,
        )
        for rival in range(4)
    ]
    found = [rival.told() for rival in rivals]
    assert all(one == found[0] for one in found)
    assert {manifest.key: manifest.content for manifest in Store(home).manifests()} == found[0]
    assert len(found[0]) == 100
    assert len(set(found[0].values())) > 1, "not always the same process may win"
    assert leftovers(home) == set()


def manifest(key: str, content: str) -> Manifest:
    nothing: dict[str, str] = {}
    return Manifest(key, "raced", key, nothing, nothing, nothing, nothing, {}, content, 0, (), "2026-01-01T00:00:00Z")


def test_a_key_is_computed_by_one_process_at_a_time_and_free_as_soon_as_that_one_is_killed(start, home: Home) -> None:
    home.prepare()
    first = start(worlds.compute_forever, home, "k")
    assert first.told() == "computing"
    second = start(worlds.compute_forever, home, "k")
    assert not second.pipe.poll(0.5)
    first.kill()
    assert second.pipe.poll(10)
    second.kill()
    assert not held(home.locks / "k.lock")
    with Store(home).computing("k") as folder:
        assert (folder / "half.parquet").read_text() == "half", "what the dead left is for the next"
    assert leftovers(home) == set()


def test_a_lock_is_one_process_at_a_time_although_its_file_is_removed_whenever_it_is_free(
    processes: ForkServerContext, start, tmp_path: Path
) -> None:
    barrier = processes.Barrier(4)
    rivals = [start(worlds.contend, barrier, tmp_path / "some.lock", 4.0) for _ in range(4)]
    rounds = [rival.told() for rival in rivals]
    assert sum(rounds) > 500
    assert min(rounds) > 0
    assert not list(tmp_path.iterdir())


def test_lock_files_of_killed_processes_are_removed_by_the_next_run_and_those_of_living_ones_are_not(
    start, home: Home
) -> None:
    home.prepare()
    killed = [start(worlds.compute_forever, home, "dead"), start(worlds.run_forever, home)]
    alive = [start(worlds.compute_forever, home, "alive"), start(worlds.run_forever, home)]
    for process in (*killed, *alive):
        process.told()
    living = held_locks(home)
    assert len(living) == 4
    for process in killed:
        process.kill()
    (home.locks / "gpus").mkdir()
    (home.locks / "gpus" / "host-cuda-0-0.lock").touch()
    living = held_locks(home)
    assert len(living) == 2
    run(home, counters(1))
    assert sorted(home.locks.rglob("*.lock")) == sorted(living)
    assert held_locks(home) == living


def test_garbage_is_not_collected_while_a_run_is_on_and_is_when_it_was_killed(start, home: Home) -> None:
    run(home, counters(2, version=1))
    superseded = keys(home)
    run(home, counters(2, version=2))
    current = keys(home) - superseded
    runner = start(worlds.run_forever, home)
    run_id = runner.told()
    before = tree(home)
    for apply in (False, True):
        with pytest.raises(UserError, match=f"run {run_id} is under way"):
            collect(home, list(SCOPES), apply=apply)
    assert tree(home) == before
    runner.kill()
    collect(home, list(SCOPES), apply=True)
    assert keys(home) == current


def tree(home: Home) -> set[str]:
    """Return all files but locks, which come and go."""
    return {str(path) for path in home.root.rglob("*") if home.locks not in path.parents}


def test_a_dry_collection_removes_nothing_and_names_what_another_removes(home: Home) -> None:
    run(home, counters(3, version=1))
    run(home, counters(3, version=2))
    (home.staging / "dead").mkdir()
    before = tree(home)
    dry = collect(home, list(SCOPES))
    assert tree(home) == before
    assert collect(home, list(SCOPES), apply=True) == dry
    assert before - tree(home) == {str(home.root / garbage.path) for garbage in dry}
    assert collect(home, list(SCOPES)) == []


def test_orphans_are_only_what_no_manifest_refers_to(home: Home) -> None:
    run(home, counters(3, version=1))
    run(home, counters(3, version=2))
    visible = contents_by_key(home)
    (home.objects / "counter" / "nobody.parquet").write_bytes(b"of a killed run")
    (home.staging / "dead").mkdir()
    (home.staging / "dead" / "table.parquet").write_bytes(b"half")
    (home.manifests / "counter" / ".draft").write_text("{")
    removed = {garbage.path for garbage in collect(home, ["orphans"], apply=True)}
    assert removed == {"objects/counter/nobody.parquet", "staging/dead", "manifests/counter/.draft"}
    assert contents_by_key(home) == visible
    assert verify(Store(home)).damaged == ()


def contents_by_key(home: Home) -> dict[str, str]:
    return {manifest.key: manifest.content for manifest in Store(home).manifests()}


def test_superseded_artifacts_go_unless_a_current_one_was_made_from_them(home: Home) -> None:
    run(home, counters(2, version=1))
    oldest = keys(home)
    run(home, counters(2, version=2))
    second = keys(home) - oldest
    run(home, counters(1, version=3))  # its child stays the one made from version 2
    newest = keys(home) - oldest - second
    collect(home, ["superseded"], apply=True)
    assert keys(home) == second | newest
    assert (len(second), len(newest)) == (2, 1)
    assert verify(Store(home)).damaged == ()
    current = query(home, "SELECT cell, params ->> 'version' FROM artifacts WHERE current ORDER BY ALL").rows
    assert current == [("counter/n0000", "3"), ("counter/n0001", "2")]


def test_a_file_that_a_superseded_and_a_current_artifact_share_stays(home: Home) -> None:
    (cell,) = counters(1)
    again = replace(cell, params={**cell.params, "without effect": True})
    run(home, [cell])
    assert computed(run(home, [again])) == {cell.name}
    assert len(list(home.objects.glob("*/*"))) == 1
    (garbage,) = collect(home, ["superseded"], apply=True)
    assert garbage.path.startswith("manifests/")
    assert verify(Store(home)).damaged == ()
    assert len(keys(home)) == 1
