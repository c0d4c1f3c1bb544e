"""A report is written whole or not at all, whatever happens meanwhile."""

import signal
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from data_catalog.home import Home
from tasks.reporting.document import Column, Report, Section, Table
from tasks.reporting.publication import publish
from tests.data_catalog.worlds import killed_at_touch
from tests.warm_processes import warm_processes

_MADE = datetime(2026, 1, 1, tzinfo=UTC)


def report_of(title: str) -> Report:
    table = Table("numbers", "Numbers", "SELECT 1 AS n", [Column("n", "n", "count")], [{"n": 1}])
    return Report(title, _MADE, [title], [], [Section("all", "All", tables=[table])])


def publish_new(home: Home) -> None:
    publish(report_of("new"), reports(home) / "mine")


def reports(home: Home) -> Path:
    return home.root / "reports"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_killed_at_any_touch_of_a_file_the_report_is_the_old_one_the_new_one_or_none(tmp_path: Path) -> None:
    old, new = (files(publish(report_of(word), tmp_path / word / "out").parent) for word in ("old", "new"))
    assert old != new
    seen = []
    for touch in count(1):
        home = Home(tmp_path / f"killed-{touch}")
        publish(report_of("old"), reports(home) / "mine")
        process = warm_processes().Process(target=killed_at_touch, args=(touch, home, publish_new), daemon=True)
        process.start()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        seen.append(files(reports(home) / "mine"))
        assert seen[-1] in (old, new, {})
        if process.exitcode == 0:
            break
        publish_new(home)
        assert files(reports(home) / "mine") == new
        assert [path.name for path in reports(home).iterdir()] == ["mine"], "what the killed one left is gone"
    assert seen[-1] == new
    assert seen.count(old) > 5, "it was killed at several steps of its way"
    assert seen.count({}) <= 1, "there is none but between two renames"


def test_what_is_no_report_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    with pytest.raises(Exception, match="no report"):
        publish(report_of("new"), tmp_path / "mine")
    assert files(tmp_path) == {"mine/thesis.tex": b"years of work"}
