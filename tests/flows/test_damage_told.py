"""Damage in a store, as it is told by commands and by the report."""

import json
from pathlib import Path

import pytest

from data_catalog.home import Home

REQUEST = ("--dataset", "simbirds", "--backbone", "simclip", "--method", "zero_shot", "--method", "group_prompt")
ZERO_SHOT = "metrics/simbirds/simclip/zero_shot"


@pytest.fixture
def ran(dat, home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("DAT_RUNNER", "inline")
    monkeypatch.setenv("DAT_REPORT", "false")
    assert dat("run", *REQUEST).code == 0
    return home


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)


def test_strict_prints_no_answer_that_rests_on_a_damaged_file(ran: Home, dat) -> None:
    question = ("sql", "SELECT count(*) AS n FROM predictions", "--format", "csv")
    sound = dat(*question, "--strict")
    assert (sound.code, sound.err) == (0, "")
    for path in (ran.objects / "predictions").iterdir():
        flip(path)
    warned, refused = dat(*question), dat(*question, "--strict")
    assert (warned.code, warned.out) == (0, sound.out)
    assert (refused.code, refused.out) == (1, "")
    for ended in (warned, refused):
        assert "predictions/simbirds/simclip/group_prompt" in ended.err
    assert dat("sql", "SELECT count(*) FROM results", "--strict").code == 0


def test_a_damaged_manifest_is_told_by_every_command_that_rests_on_it(ran: Home, dat, tmp_path: Path) -> None:
    assert json.loads(dat("status", "--json").out)["damage"] == []
    flip(next(path for path in (ran.manifests / "metrics").iterdir() if ZERO_SHOT in path.read_text()))
    assert ZERO_SHOT in dat("sql", "SELECT * FROM leaderboard").err
    assert ZERO_SHOT in dat("why", "metrics/simbirds/simclip/group_prompt").err
    assert [one["name"] for one in json.loads(dat("status", "--json").out)["damage"]] == [ZERO_SHOT]
    assert ZERO_SHOT in dat("status").out
    assert dat("report", *REQUEST, "--output", str(tmp_path / "report")).code == 0
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Missing or damaged" in page
    assert ZERO_SHOT in page.partition("Missing or damaged</h2>")[2].partition("</section>")[0]
    verified = dat("verify")
    assert verified.code == 1
    assert ZERO_SHOT in dat("sql", "SELECT * FROM leaderboard").err
    assert "warning" not in dat("run", *REQUEST).err
    assert "warning" not in dat("sql", "SELECT * FROM leaderboard").err
    dat("report", *REQUEST, "--output", str(tmp_path / "report"))
    assert "Missing or damaged" not in (tmp_path / "report" / "index.html").read_text()


def test_the_ranking_of_a_run_tells_of_damage_elsewhere_each_time(ran: Home, dat) -> None:
    assert dat("run", *REQUEST, "--set", "seed=3").code == 0
    flip(next(path for path in (ran.manifests / "metrics").iterdir() if '"seed": 3' in path.read_text()))
    for _ in range(2):
        again = dat("run", *REQUEST)
        assert again.code == 0
        assert "warning: 1 manifests cannot be read" in again.err
