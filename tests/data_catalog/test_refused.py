"""A home that refuses or goes away while it is written to: a clear error, nothing made up, nothing set aside."""

import errno
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from data_catalog.errors import StoreError
from data_catalog.home import Home
from data_catalog.planning.cell import Cell
from data_catalog.store import artifacts as store_module
from data_catalog.store.artifacts import Store
from data_catalog.store.locking import held, lock
from data_catalog.store.runs import recorded_run
from data_catalog.store.verification import verify
from tasks.engine.events import Silence, listening
from tasks.engine.run import run_benchmark
from tests.data_catalog.worlds import contents, counters, run, tiny_pipeline


@contextmanager
def no_file_over(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full_for_the_record_of_a_run_is_told_once_and_as_such(home: Home) -> None:
    with (
        no_file_over(1000),
        pytest.raises(StoreError, match="cannot be written: File too large") as raised,
        recorded_run(home, "run") as record,
    ):
        record.decisions([{"cell": "x" * 2000}])
    assert "free some space" in str(raised.value.remedy)


def test_a_file_system_without_locks_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    home.prepare()
    monkeypatch.setattr("fcntl.flock", missing)
    with pytest.raises(StoreError, match="cannot be locked") as raised, lock(home.locks / "some.lock"):
        pass
    assert "a file system that offers advisory locks" in str(raised.value.remedy)


class _Mover(Silence):
    """Moves a home away as the second computation begins."""

    def __init__(self, home: Home, away: Path) -> None:
        self.home, self.away, self.begun = home, away, 0

    def started(self, cell: Cell) -> None:
        self.begun += 1
        if self.begun == 2:
            self.home.root.rename(self.away)


def test_a_home_that_goes_away_during_a_run_is_missed_and_not_made_anew(home: Home, tmp_path: Path) -> None:
    cells, away = counters(4), tmp_path / "away"
    with pytest.raises(StoreError, match="No such file or directory") as raised, listening(_Mover(home, away)):
        run_benchmark(cells, Store(home), request="test")
    assert "bring the folder back" in str(raised.value.remedy)
    assert not home.root.exists()
    away.rename(home.root)
    assert contents(home).keys() == {cells[0].name}
    run(home, cells)
    assert contents(home).keys() == {cell.name for cell in cells}


def test_a_lock_file_that_cannot_be_removed_is_let_go_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    with lock(path):
        path.unlink()
        path.mkdir()
    path.rmdir()
    assert not held(path)


def test_a_file_that_could_not_be_read_for_a_moment_is_not_set_aside(
    finished: Home, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished.root, home.root)
    digest, failures = store_module.file_digest, iter([True])

    def fails_once(path: Path) -> str:
        if path.is_relative_to(home.objects / "image_embeddings") and next(failures, False):
            raise OSError(errno.ESTALE, "Stale file handle")
        return digest(path)

    monkeypatch.setattr(store_module, "file_digest", fails_once)
    run(home, tiny_pipeline(home, ["zero_shot", "group_prompt", "tie"]))
    assert next(failures, False) is False, "the file must have been read"
    assert not home.quarantine.exists()
    assert verify(Store(home)).damaged == ()


def test_a_home_without_its_artifacts_is_missing_just_them(finished: Home, home: Home) -> None:
    shutil.copytree(finished.root, home.root)
    shutil.rmtree(home.objects)
    with pytest.raises(StoreError, match="the folder is gone, and with it all artifacts") as raised:
        verify(Store(home))
    assert raised.value.where == str(home.objects)
    assert "have `dat run` compute again" in str(raised.value.remedy)
    run(home, tiny_pipeline(home))
    assert verify(Store(home)).damaged == ()
    shutil.rmtree(home.objects)
    manifest = next(Store(home).manifests())
    shutil.rmtree(home.root)
    with pytest.raises(StoreError, match=r"home: the folder is gone\n") as raised:
        Store(home).read(manifest)
    assert raised.value.where == str(home.root)
