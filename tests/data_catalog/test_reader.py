from pathlib import Path

import duckdb
import pytest

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.index.reader import index_condition, query
from data_catalog.index.views import VIEWS


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "o'home")
    home.prepare()
    update_index(home)
    return home


def test_every_view_exists_in_an_empty_store_and_every_column_is_explained(home: Home) -> None:
    for view in VIEWS:
        columns = query(home, f"DESCRIBE {view}").rows
        explained = query(
            home, "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ? AND comment <> ''", [view]
        ).rows
        assert [name for name, _ in explained] == [row[0] for row in columns], view
        assert query(home, "SELECT comment FROM duckdb_views() WHERE view_name = ?", [view]).rows[0][0]


def test_the_paper_is_in_the_catalog(home: Home) -> None:
    answer = query(
        home,
        "SELECT wg, avg, gap, note FROM paper WHERE source = 'table:waterbirds' "
        "AND backbone = 'clip-vit-l-14' AND method = 'dat'",
    )
    assert answer.rows[0][:3] == (83.33, 89.57, 6.42)
    assert "6.24" in answer.rows[0][3]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP VIEW results",
        "CREATE TABLE t (a INT)",
        "CREATE TEMP TABLE t AS SELECT 1",
        "INSERT INTO store.runs (run_id) VALUES ('x')",
        "DELETE FROM store.artifacts",
        "UPDATE store.artifacts SET wg = 100",
        "COPY (SELECT 1) TO 'stolen.csv'",
        "COPY results TO 'stolen.parquet'",
        "EXPORT DATABASE 'elsewhere'",
        "ATTACH 'other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "CHECKPOINT",
        "BEGIN",
        "SELECT 1; DROP VIEW results",
        "",
    ],
)
def test_nothing_but_questions_is_answered(home: Home, sql: str, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError):
        query(home, sql)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("absent", [False, True], ids=["on the index file", "in memory"])
def test_files_outside_the_home_cannot_be_read(home: Home, tmp_path: Path, absent: bool) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    (home.root / "link.csv").symlink_to(secret)
    (home.root / "own.csv").write_text("a\n2\n")
    if absent:
        home.index.unlink()
    quoted = str(home.root).replace("'", "''")
    outside = [str(secret).replace("'", "''"), f"{quoted}/../secret.csv", f"{quoted}/link.csv", "/etc/passwd"]
    for path in outside:
        for reader in ("read_csv", "read_text", "read_blob", "read_parquet", "glob"):
            try:
                answer = query(home, f"SELECT * FROM {reader}('{path}')").rows
            except UserError:
                continue
            assert answer == [], (reader, path)
    assert query(home, f"SELECT a FROM read_csv('{quoted}/own.csv')").rows == [(2,)]


def test_wrong_sql_is_explained(home: Home) -> None:
    with pytest.raises(UserError, match=r"there is no table result\n.*did you mean results"):
        query(home, "SELECT * FROM result")
    with pytest.raises(UserError, match="wgg"):
        query(home, "SELECT wgg FROM results")
    with pytest.raises(UserError, match="syntax"):
        query(home, "SELEC 1")


def test_answers_do_not_depend_on_the_index_file(home: Home) -> None:
    question = "SELECT count(*), sum(wg) FROM paper"
    expected = query(home, question)
    assert expected.index == "file"
    with duckdb.connect(str(home.index)):
        assert query(home, question).rows == expected.rows
    home.index.write_bytes(b"garbage" * 1000)
    assert index_condition(home).startswith("damaged")
    assert query(home, question).rows == expected.rows
    home.index.unlink()
    assert index_condition(home) == "absent"
    assert query(home, question).rows == expected.rows
    update_index(home)
    assert index_condition(home) == "current"


def test_a_store_that_moved_is_answered_from_its_new_place(home: Home, tmp_path: Path) -> None:
    moved = Home(tmp_path / "moved")
    home.root.rename(moved.root)
    assert index_condition(moved) == "behind"
    assert query(moved, "SELECT count(*) FROM predictions").rows == [(0,)]


def test_the_index_opens_in_plain_duckdb(home: Home) -> None:
    with duckdb.connect(str(home.index), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM leaderboard").fetchone() == (0,)
