"""The command line as people and programs meet it."""

import csv
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = ["run", "plan", "why", "status", "sql", "ls", "validate", "verify", "gc", "doctor", "import", "catalog"]


@pytest.fixture
def ran(dat, tmp_path):
    suites = tmp_path / "specs/suites"
    suites.mkdir(parents=True)
    (suites / "small.toml").write_text(
        '[[grid]]\ndatasets = ["simbirds"]\nbackbones = ["simclip"]\nmethods = ["zero_shot", "group_prompt"]\n'
    )
    result = dat("run", "small")
    assert result.code == 0, result.err
    return result


def test_the_console_script_is_declared_and_every_command_helps(dat) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"dat": "flows.cli:main"}
    overview = dat("--help")
    assert overview.code == 0
    for command in COMMANDS:
        assert command in overview.out
        assert dat(command, "--help").code == 0
    for command in ("run", "plan", "why", "sql", "ls", "validate", "gc"):
        assert f"dat {command}" in dat(command, "--help").out, "an example is shown"


def test_each_command_is_in_the_file_that_is_named_as_it_is() -> None:
    from flows.cli.app import app

    files = {command.callback.__name__: command.callback.__module__ for command in app.registered_commands}
    assert files == {name: f"flows.cli.{name}" for name in files}
    groups = {group.name: group.typer_instance.registered_commands for group in app.registered_groups}
    for name, commands in groups.items():
        assert all(command.callback.__module__.startswith(f"flows.cli.{name}") for command in commands), name


def test_a_run_ends_with_a_ranking_and_a_count(ran, dat) -> None:
    lines = ran.out.splitlines()
    assert lines[0] == "simbirds × simclip"
    assert lines[1].split() == ["#", "method", "WG", "↑", "95", "%", "interval", "Avg", "↑", "Gap", "↓"]
    assert [line.split()[1] for line in lines[2:4]] == ["group_prompt", "zero_shot"]
    columns = "rank, method, wg, wg_low, wg_high, avg, gap"
    stored = json.loads(dat("sql", f"SELECT {columns} FROM leaderboard", "--format", "json").out)
    row = "{rank} {method} {wg:.2f} {wg_low:.1f} to {wg_high:.1f} {avg:.2f} {gap:.2f}"
    assert [" ".join(line.split()) for line in lines[2:4]] == [row.format(**one) for one in stored]
    assert lines[-1] == "r000001: 8 computed"


def test_output_in_a_pipe_is_plain(ran, dat) -> None:
    for words in (["plan", "small", "--all"], ["status"], ["sql", "SELECT * FROM results"], ["why", "zero_shot"]):
        out = dat(*words).out
        assert "\x1b" not in out
        assert "┃" not in out


def test_plan_check_tells_by_its_exit_code(ran, dat) -> None:
    assert dat("plan", "small", "--check").code == 0
    assert dat("plan", "simulated", "--check").code == 3
    assert dat("plan", "simulated").code == 0


def test_sql_in_three_formats(ran, dat) -> None:
    question = "SELECT method, wg, created, notes FROM results ORDER BY method"
    table = dat("sql", question).out.splitlines()
    assert table[0].split() == ["method", "wg", "created", "notes"]
    rows = list(csv.DictReader(dat("sql", question, "--format", "csv").out.splitlines()))
    records = json.loads(dat("sql", question, "--format", "json").out)
    assert [r["method"] for r in rows] == [r["method"] for r in records] == ["group_prompt", "zero_shot"]
    assert [float(r["wg"]) for r in rows] == [r["wg"] for r in records]


def test_lists(ran, dat) -> None:
    assert {"small", "demo"} <= {r["name"] for r in json.loads(dat("ls", "suites", "--json").out)}
    methods = {r["name"]: r["reads"] for r in json.loads(dat("ls", "methods", "--json").out)}
    assert methods["zero_shot"] == "class prompts"
    assert "test attributes" in methods["tie"]
    assert "test attributes" not in methods["tie_star"]


def test_status_and_doctor(ran, dat, home) -> None:
    status = json.loads(dat("status", "--json").out)
    assert status["home"] == str(home.root)
    assert status["index"] == "current"
    assert {step["step"]: step["artifacts"] for step in status["steps"]}["predictions"] == 2
    assert status["runs"][0]["status"] == "done"
    findings = {f["what"]: f for f in json.loads(dat("doctor", "--json").out)}
    assert {"python", "torch", "gpu", "free disk", "network", "DAT_HOME", "index"} <= set(findings)
    assert findings["DAT_HOME"]["state"] == "good"


def test_verify_names_damage_run_heals_it_and_rebuild_answers_the_same(ran, dat, home) -> None:
    question = ("sql", "SELECT dataset, method, wg, avg FROM results ORDER BY method", "--format", "json")
    before = dat(*question).out
    assert dat("verify").code == 0
    (path, *_) = sorted((home.objects / "predictions").iterdir())
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    found = dat("verify", "--json")
    assert found.code == 1
    assert [d["file"] for d in json.loads(found.out)["damaged"]] == [str(path.relative_to(home.root))]
    assert "1 damaged artifacts are set aside" in dat("status").out
    assert json.loads(dat("run", "small", "--json").out)["outcomes"] == {"up to date": 7, "computed": 1}
    assert "corrupt" in dat("sql", "SELECT reason FROM decisions WHERE run_id = 'r000002'").out
    assert dat(*question).out == before
    assert dat("verify").code == 0
    assert dat("catalog", "rebuild").code == 0
    assert dat(*question).out == before


def test_gc_shows_first_and_removes_only_when_told(ran, dat, home, tmp_path) -> None:
    specs = tmp_path / "specs/methods"
    specs.mkdir()
    (specs / "group_prompt.toml").write_text("[datasets.simbirds]\nroboshot_bug = true\n")
    assert dat("run", "small").code == 0
    files = set(home.root.rglob("*.parquet"))
    shown = json.loads(dat("gc", "--scope", "superseded", "--json").out)
    assert {g["cell"] for g in shown["garbage"]} == {
        "predictions/simbirds/simclip/group_prompt",
        "metrics/simbirds/simclip/group_prompt",
        "over_zero_shot/simbirds/simclip/group_prompt",
    }
    assert set(home.root.rglob("*.parquet")) == files
    assert dat("gc", "--scope", "superseded", "--apply").code == 0
    assert len(files - set(home.root.rglob("*.parquet"))) == 3
    assert dat("plan", "small", "--check").code == 0
    assert dat("verify").code == 0


def test_ctrl_c_stops_kindly_and_the_next_run_goes_on(home, tmp_path) -> None:
    """The process gets the signal that a terminal sends while it computes."""
    code = (
        "import os, signal, tasks.steps.predictions as step\n"
        "step.compute = lambda work: os.kill(os.getpid(), signal.SIGINT)\n"
        "from flows.cli import main; main()\n"
    )
    command = [sys.executable, "-c", code, "run", "simulated"]
    stopped = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ.copy())
    assert stopped.returncode == 130, stopped.stderr
    assert "finished work is kept" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    go_on = [sys.executable, "-c", "from flows.cli import main; main()", "run", "simulated", "--json"]
    finished = subprocess.run(go_on, capture_output=True, text=True, timeout=300)
    assert json.loads(finished.stdout)["outcomes"]["up to date"] == 3
    assert finished.returncode == 0


def test_a_terminal_shows_the_first_rows_and_how_many_there_are(home, dat, monkeypatch) -> None:
    monkeypatch.setattr("flows.cli.terminal.output.console._force_terminal", True)
    ran = dat("sql", "SELECT range AS n FROM range(1000000)")
    assert "39" in ran.out
    assert "41" not in ran.out
    assert "the first 40 rows of 1,000,000 (--max-rows 0 shows all)" in ran.err
    assert "40 rows" in dat("sql", "FROM range(40)").out
    assert dat("sql", "FROM range(40)").err == ""
    assert "41" in dat("sql", "FROM range(42)", "--max-rows", "0").out


def test_rows_that_take_too_long_to_count_are_not_counted(home, dat) -> None:
    ran = dat("sql", "FROM range(1000000000000)", "--max-rows", "3")
    assert ran.code == 0
    assert "the first 3 rows; there are more" in ran.err


@pytest.mark.parametrize("output", ["table", "csv", "json"])
def test_all_rows_are_printed_into_a_pipe_unless_asked_otherwise(home, dat, monkeypatch, output: str) -> None:
    everything = dat("sql", "SELECT 'row' AS n FROM range(50); -- all", "--format", output)
    assert everything.out.count("row") == 50
    assert everything.err == ""
    monkeypatch.setenv("DAT_SQL_MAX_ROWS", "7")
    some = dat("sql", "SELECT 'row' AS n FROM range(50);", "--format", output)
    assert some.out.count("row") == 7
    assert "the first 7 rows of 50" in some.err


def test_a_closed_pipe_is_no_fault(ran, home) -> None:
    code = "from flows.cli import main; main()"
    question = "SELECT unnest(range(200000))"
    command = f'{sys.executable} -c "{code}" sql "{question}" --format csv | head -n 2'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[1] == "0"
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_home_whose_name_looks_like_a_pattern_is_that_folder_and_no_other(dat, tmp_path, monkeypatch) -> None:
    home, other = tmp_path / "a[b]*c", tmp_path / "abbc"
    other.mkdir()
    (other / "secret.csv").write_text("a\n1\n")
    monkeypatch.setenv("DAT_HOME", str(home))
    ran = dat("run", "--dataset", "simbirds", "--backbone", "simclip", "--method", "zero_shot", "--method", "dat")
    assert ran.code == 0, ran.err
    counted = dat("sql", "SELECT method, count(*) AS n FROM predictions GROUP BY 1 ORDER BY 1", "--format", "json")
    assert [row["method"] for row in json.loads(counted.out)] == ["dat", "zero_shot"]
    assert "index  current" in dat("status").out
    sample = json.loads(dat("sql", "SELECT sample_id FROM predictions LIMIT 1", "--format", "json").out)[0]["sample_id"]
    assert dat("explain", "simbirds", "simclip", sample, "--json").code == 0
    for path in (other / "secret.csv", f"{tmp_path}/a[[]b][*]c/../abbc/secret.csv", f"{tmp_path}/a*c/secret.csv"):
        assert dat("sql", f"SELECT * FROM read_csv('{path}')").code == 2
