"""SQL that writes, reads other files, loads code or changes settings, on the command line and in the shell.

Statements of other kinds than questions, and readers of files by any path: tests/data_catalog/test_reader.py.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.index.reader import Questions
from tests.hostile.kinds.questions import ENDLESS
from tests.hostile.watching import World, dat, watched

SECRET = "what-nobody-may-read"


@pytest.fixture(scope="module", params=["on the index file", "in memory"])
def refused(request, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], bool]]:
    """Ask a question beside a secret file, and say whether it is refused; nothing is written, nothing is told."""
    world = World(tmp_path_factory.mktemp("questions"))
    home = Home(world.home)
    home.prepare()
    world.work.mkdir()
    (world.work / "secret.csv").write_text(f"a\n{SECRET}\n")
    if request.param == "on the index file":
        update_index(home)
    before = state(world.folder)

    with Questions(home) as in_memory:

        def refuses(sql: str) -> bool:
            asked = sql.format(home=world.home, folder=world.work)
            if request.param == "in memory":
                code, told = 0, ""
                with watched(world.home) as faults:
                    try:
                        told = str(in_memory.ask(asked).rows)
                    except UserError as error:
                        code, told = 2, str(error)
            else:
                ran = dat(world, "sql", asked)
                code, told, faults = ran.code, ran.out + ran.err, list(ran.faults)
            assert not faults
            assert SECRET not in told
            assert state(world.folder) == before
            return code == 2

        yield refuses


def state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


WRITES = [
    "COPY (SELECT 1) TO '{home}/manifests/stolen.json'",
    "COPY (SELECT 1) TO '{folder}/stolen.csv'",
    "CREATE TEMP TABLE t AS SELECT 1",
    "DELETE FROM store.artifacts",
    "INSERT INTO store.runs (run_id) VALUES ('x')",
]


@pytest.mark.parametrize("sql", WRITES)
@pytest.mark.parametrize("before", ["EXPLAIN ANALYZE ", "explain (analyze) ", "EXPLAIN ANALYZE (FORMAT json) "])
def test_what_is_explained_is_not_carried_out(refused, before: str, sql: str) -> None:
    """EXPLAIN ANALYZE runs the statement behind it."""
    assert refused(before + sql)


WRITING_CTES = [
    "WITH x AS (DELETE FROM store.artifacts RETURNING *) SELECT * FROM x",
    "WITH x AS (DELETE FROM store.meta) SELECT 1",
    "WITH x AS (INSERT INTO store.runs (run_id) VALUES ('x') RETURNING *) FROM x",
    "WITH x AS MATERIALIZED (UPDATE store.meta SET home = '' RETURNING *) SELECT * FROM x",
    "WITH x AS (TRUNCATE store.meta) SELECT 1",
    "WITH x AS (COPY (SELECT 1) TO '{home}/manifests/stolen.json') SELECT 1",
    "WITH y AS (SELECT 1), x AS (COPY (SELECT 1) TO '{home}/stolen.csv') SELECT 1 UNION ALL VALUES (2)",
    "WITH x AS (WITH y AS (DELETE FROM store.meta RETURNING *) FROM y) SELECT * FROM x",
    "SELECT (WITH x AS (DELETE FROM store.meta RETURNING *) SELECT count(*) FROM x)",
    "FROM query('WITH x AS (DELETE FROM store.meta RETURNING *) FROM x')",
    "FROM json_execute_serialized_sql(json_serialize_sql('WITH x AS (DELETE FROM store.meta RETURNING *) FROM x'))",
    'FROM "JSON_execute_serialized_SQL"(json_serialize_sql(\'WITH x AS (COPY (SELECT 1) TO "{home}/s") FROM x\'))',
    "FROM query('FROM json_execute_serialized_sql(json_serialize_sql(''WITH x AS (TRUNCATE store.meta) SELECT 1''))')",
]


@pytest.mark.parametrize(
    "before", ["", "EXPLAIN ", "EXPLAIN ANALYZE ", "explain (analyze) ", "SUMMARIZE ", "DESCRIBE "]
)
@pytest.mark.parametrize("sql", WRITING_CTES)
def test_a_question_that_writes_by_the_way_is_refused(refused, before: str, sql: str) -> None:
    """As a whole, each of these is a SELECT."""
    assert refused(before + sql)
    assert not refused("SELECT 1 / count(*) FROM store.meta")


def test_a_question_about_words_that_write_is_answered(refused) -> None:
    assert not refused(
        """SELECT 'WITH x AS (DELETE FROM t)', '"type":"DELETE_QUERY_NODE"', '"function_name":"query"'"""
    )
    assert not refused('SELECT 1 AS query, 2 AS "DELETE_QUERY_NODE"')


def test_where_the_look_at_the_statement_misses_a_write_the_transaction_refuses_it(tmp_path: Path, monkeypatch) -> None:
    home = Home(tmp_path / "home")
    home.prepare()
    monkeypatch.setattr("data_catalog.index.reader.check_writes_nothing", lambda *_: None)
    with Questions(home) as questions:
        for sql in WRITING_CTES[:5]:
            with pytest.raises(UserError, match="read-only"):
                questions.ask(sql)
        assert questions.ask("SELECT count(*) FROM store.meta").rows == [(1,)]


def test_an_endless_question_is_ended_by_its_limits(tmp_path: Path) -> None:
    world = World(tmp_path)
    Home(world.home).prepare()
    world.work.mkdir()
    for sql in ENDLESS:
        ran = dat(world, "sql", sql, "--timeout", "1", "--memory", "100MB", "--format", "csv")
        assert ran.code == 1, ran
        assert not ran.faults
        assert "--timeout" in ran.err or "--memory" in ran.err


@pytest.mark.parametrize("sql", ["EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1", "explain (analyze) FROM range(3)"])
def test_questions_are_still_explained(refused, sql: str) -> None:
    assert not refused(sql)


@pytest.mark.parametrize("sql", ["/**/ EXPLAIN ANALYZE COPY (SELECT 1) TO '{home}/stolen'", "EXPLAIN (x) (y) SELECT 1"])
def test_an_explanation_that_cannot_be_seen_through_is_refused(refused, sql: str) -> None:
    assert refused(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM '{folder}/secret.csv'",
        "SELECT * FROM 'secret.csv'",
        "FROM read_csv(['{folder}/secret.csv'])",
        "FROM read_csv_auto('{folder}/secret.csv')",
        "FROM read_text('file://{folder}/secret.csv')",
        "FROM read_text('{folder}/s*.csv')",
        "FROM read_json('{folder}/secret.csv')",
        "FROM read_ndjson_objects('{folder}/secret.csv')",
        "FROM sniff_csv('{folder}/secret.csv')",
        "FROM parquet_metadata('{folder}/secret.csv')",
        "FROM parquet_kv_metadata('{folder}/secret.csv')",
        "FROM read_duckdb('{folder}/secret.csv')",
        "FROM query('FROM read_text(''{folder}/secret.csv'')')",
        "FROM query_table('{folder}/secret.csv')",
        "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{folder}/secret.csv'')'))",
        "FROM glob('{folder}/*')",
        "FROM glob('../*')",
        "SELECT getenv('HOME')",
        "FROM duckdb_secrets()",
        "FROM which_secret('s3://a/b', 's3')",
        "FROM read_text('https://example.com/x')",
        "FROM 's3://bucket/x.parquet'",
        "SELECT (SELECT content FROM read_text('{folder}/secret.csv'))",
        "WITH x AS MATERIALIZED (FROM read_blob('{folder}/secret.csv')) FROM x",
        "SUMMARIZE SELECT * FROM '{folder}/secret.csv'",
    ],
)
def test_other_files_variables_and_addresses_cannot_be_read(refused, sql: str) -> None:
    assert refused(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "INSTALL httpfs",
        "FORCE INSTALL httpfs FROM 'http://example.com'",
        "LOAD httpfs",
        "LOAD '{folder}/evil.duckdb_extension'",
        "SET allowed_directories = ['/']",
        "SET lock_configuration = false",
        "RESET enable_external_access",
        "SET VARIABLE x = 1",
        "PRAGMA enable_profiling = 'json'",
        "PRAGMA add_parquet_key('k', '0123456789112345')",
        "CALL enable_logging()",
        "ATTACH '{folder}/x.duckdb'",
        "ATTACH ':memory:' AS m",
        "USE memory",
        "CREATE SECRET s (TYPE s3)",
        "CREATE MACRO f() AS 1",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "VACUUM",
        "IMPORT DATABASE '{folder}'",
        "EXPORT DATABASE '{folder}/out'",
        "PIVOT (SELECT 1 AS a) ON a",
        "SELECT 1; SELECT 2",
        "FROM enable_logging('all', storage = 'file', storage_path = '{folder}/log')",
        "FROM enable_profiling(save_location = '{folder}/profile')",
        "FROM force_checkpoint('other')",
    ],
)
def test_settings_extensions_and_databases_stay_as_they_are(refused, sql: str) -> None:
    assert refused(sql)


def test_what_does_not_fit_into_memory_is_put_below_the_home(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.prepare()
    with Questions(home) as questions:
        ((place,),) = questions.ask("SELECT current_setting('temp_directory')").rows
    assert Path(place).is_relative_to(home.root)


def test_the_shell_refuses_what_the_command_line_refuses(tmp_path: Path) -> None:
    world = World(tmp_path)
    Home(world.home).prepare()
    update_index(Home(world.home))
    world.work.mkdir()
    (world.work / "secret.csv").write_text(f"a\n{SECRET}\n")
    lines = [sql.format(home=world.home, folder=world.work) for sql in (*WRITES, "FROM '{folder}/secret.csv'")]
    lines += [f"EXPLAIN ANALYZE {line}" for line in lines]
    commands = [".shell ls", ".read secret.csv", ".columns x' OR '1'='1"]
    before = state(tmp_path)
    ran = dat(world, "sql", "--shell", stdin="".join([f"{line};\n" for line in lines] + [f"{c}\n" for c in commands]))
    assert ran.code == 0
    assert not ran.faults
    assert ran.err.count("error:") == len(lines)
    assert SECRET not in ran.out + ran.err
    assert state(tmp_path) == before


def test_names_that_are_sql_stay_names(tmp_path: Path) -> None:
    """Commands ask questions with what users wrote in them."""
    world = World(tmp_path)
    Home(world.home).prepare()
    update_index(Home(world.home))
    world.work.mkdir()
    for name in ("' OR 1=1 --", "'); COPY (SELECT 1) TO 'stolen'; --", '" OR "1"="1', "%", "x' UNION SELECT 1 --"):
        for words in (("why", name), ("explain", name, name, name)):
            ran = dat(world, *words)
            assert ran.code == 2, ran.out
            assert not ran.faults
