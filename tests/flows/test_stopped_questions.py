"""Questions that would take hours, stopped from outside and by their limits, in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from data_catalog.home import Home
from data_catalog.index.database import update_index

ENDLESS = "SELECT count(*) FROM range(1000000000000)"
DEAF = "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))"
"""One call of native code, in which DuckDB does not notice an interruption."""
GENEROUS = 20
"""Seconds to end in on a busy machine, where the question would take hours."""

# The command as it is, save that it tells when a connection is about to compute.
TELLING = """
import sys
from data_catalog.index import interruption
uses = interruption.Work.uses
def telling(work, connection):
    uses(work, connection)
    print("begun", file=sys.stderr, flush=True)
interruption.Work.uses = telling
"""
SLOW_INDEX = """
import time, data_catalog.index.reader as reader
def endless(connection, home, *, reuse):
    {deed}
reader.bring_up_to_date = endless
"""
MAIN = "from flows.cli import main; main()"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.prepare()
    update_index(home)
    return home


Started = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def started(home: Home) -> Iterator[Started]:
    """Start a command in a process group of its own, and return once its question is being computed."""
    processes = []

    def start(*words: str, before: str = "", stdin: str = "") -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", TELLING + before + MAIN, *words],
            env={**os.environ, "DAT_HOME": str(home.root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.flush()
        wait_until_begun(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def wait_until_begun(process: "subprocess.Popen[str]") -> None:
    assert process.stderr is not None
    told = process.stderr.readline()
    assert told == "begun\n", told + process.stderr.read()
    time.sleep(0.5)  # from there it is a few milliseconds to the question itself


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    _, err = process.communicate(timeout=GENEROUS)
    assert "Traceback" not in err
    return process.returncode, err


def test_ctrl_c_ends_a_question_and_it_is_not_asked_again(started: Started) -> None:
    process = started("sql", ENDLESS)
    os.killpg(process.pid, signal.SIGINT)
    code, err = ended(process)
    assert code == 130
    assert "begun" not in err
    assert err.strip() == "stopped"


def test_ctrl_c_ends_a_question_that_does_not_notice_it(started: Started) -> None:
    process = started("sql", DEAF)
    os.killpg(process.pid, signal.SIGINT)
    code, err = ended(process)
    assert (code, err.strip()) == (130, "stopped")


@pytest.mark.parametrize("question", [ENDLESS, DEAF])
@pytest.mark.parametrize("pause", [0, 0.1])
def test_further_ctrl_cs_change_nothing(started: Started, question: str, pause: float) -> None:
    process = started("sql", question)
    for _ in range(2 if pause else 20):
        with suppress(ProcessLookupError):  # it has ended already
            os.killpg(process.pid, signal.SIGINT)
        time.sleep(pause)
    assert ended(process)[0] == 130


@pytest.mark.parametrize("question", [ENDLESS, DEAF])
def test_sigterm_ends_a_question(started: Started, question: str) -> None:
    process = started("sql", question)
    process.terminate()
    assert ended(process)[0] == 143


@pytest.mark.parametrize("deed", [f"connection.execute('{ENDLESS}')", "while True: time.sleep(0.01)"])
@pytest.mark.parametrize("words", [("sql", "SELECT 1"), ("status",), ("why", "zero_shot")])
def test_ctrl_c_ends_the_making_of_an_index(started: Started, home: Home, words: tuple[str, ...], deed: str) -> None:
    home.index.unlink()
    process = started(*words, before=SLOW_INDEX.format(deed=deed))
    os.killpg(process.pid, signal.SIGINT)
    assert ended(process)[0] == 130


@pytest.mark.parametrize("question", [ENDLESS, DEAF])
def test_in_the_shell_ctrl_c_ends_the_question_and_not_the_shell(started: Started, question: str) -> None:
    process = started("sql", "--shell", "--format", "csv", stdin=f"{question};\n")
    assert process.stderr is not None
    assert process.stdin is not None
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr.readline() == "stopped\n"
    out, err = process.communicate("SELECT 6 * 7 AS answer;\n", timeout=GENEROUS)
    assert out == "answer\n42\n", err
    assert process.returncode == 0


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_what_a_stopped_question_wrote_for_want_of_memory_is_removed(home: Home, end: signal.Signals) -> None:
    question = "SELECT * FROM range(1000000000) ORDER BY hash(range)"
    words = [Path(sys.executable).parent / "dat", "sql", question, "--memory", "64MiB"]
    spilled = home.index.with_suffix(".duckdb.tmp")
    process = subprocess.Popen(
        words,
        env={**os.environ, "DAT_HOME": str(home.root)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while not (spilled.exists() and any(spilled.iterdir())):
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, end)
        assert ended(process)[0] == 128 + end
        assert not spilled.exists()
    finally:
        process.kill()


def asked(home: Home, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [Path(sys.executable).parent / "dat", "sql", *words],
        env={**os.environ, "DAT_HOME": str(home.root), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("question", [ENDLESS, DEAF])
def test_a_time_limit_is_an_error_that_names_the_option(home: Home, question: str) -> None:
    by_option, by_variable = asked(home, question, "--timeout", "0.5"), asked(home, question, DAT_SQL_TIMEOUT="0.5")
    for ran in (by_option, by_variable):
        assert ran.returncode == 1, ran.stderr
        assert "longer than 0.5 seconds" in ran.stderr
        assert "--timeout" in ran.stderr
        assert "the index file is" not in ran.stderr


@pytest.mark.parametrize("output", ["table", "csv", "json"])
@pytest.mark.parametrize("indexed", [True, False], ids=["on the index file", "in memory"])
@pytest.mark.parametrize("question", ["SELECT list(range) FROM range(1000000000)", "FROM range(1000000000000)"])
def test_a_memory_limit_is_an_error_that_names_the_option(
    home: Home, question: str, output: str, indexed: bool
) -> None:
    if not indexed:
        home.index.unlink()
    ran = asked(home, question, "--format", output, DAT_SQL_MEMORY="64MB")
    assert ran.returncode == 1, ran.stderr
    assert "more memory than 61 MiB" in ran.stderr
    assert "--memory" in ran.stderr
    assert ran.stdout == ""
    assert "damaged" not in ran.stderr


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        *(("DAT_SQL_TIMEOUT", text) for text in ("soon", "0", "-1", "nan", "inf")),
        *(("DAT_SQL_MEMORY", text) for text in ("much", "4", "-4GB", "1kB", "4 elephants", "99999999999999GB")),
        *(("DAT_SQL_MAX_ROWS", text) for text in ("few", "-1", "1.5", "٤")),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(dat, monkeypatch, variable: str, text: str) -> None:
    monkeypatch.setenv(variable, text)
    ran = dat("sql", "SELECT 1")
    assert ran.code == 2
    assert variable in ran.err
