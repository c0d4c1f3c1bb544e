"""Questions in SQL: on the index file where it is sound, else on an index in memory, made from the manifests.

A question never changes anything, never reads outside `DAT_HOME`, never waits for a run and never fails because of one.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index import bring_up_to_date, has_log, is_current
from data_catalog.index_views import VIEWS
from data_catalog.step_views import unpatterned

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EXPLAIN = re.compile(r"\s*EXPLAIN\b\s*(ANALYZE\b\s*)?(\([\w\s,]*\)\s*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """Rows with their column names and DuckDB types. `index` says what answered: `file` or why it was not the file."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    index: str

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def query(home: Home, sql: str, parameters: list[Any] | None = None) -> Answer:
    """Answer one SELECT; a `UserError` for anything else and for SQL that is wrong."""
    with Questions(home) as questions:
        return questions.ask(sql, parameters)


class Questions:
    """Many questions, one after the other, by one thread: an index that must be made in memory is made once."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._memory: DuckDBPyConnection | None = None
        self._problem = ""

    def __enter__(self) -> "Questions":
        return self

    def __exit__(self, *_: object) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def ask(self, sql: str, parameters: list[Any] | None = None) -> Answer:
        """Answer one SELECT, as `query` does."""
        import duckdb

        _only_reads(sql)
        if self._memory is None:
            try:
                with _open_file(self.home) as (connection, self._problem):
                    if connection is not None:
                        return _answer(connection, sql, parameters, "file")
            except (
                duckdb.ProgrammingError,
                duckdb.DataError,
                duckdb.NotSupportedError,
                duckdb.PermissionException,
            ) as error:
                raise _explained(error, sql) from error
            except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:
                # Not the question's fault. A wrong block checksum, for one, comes as a plain duckdb.Error.
                self._problem = f"damaged ({_first_line(error)})"
            self._memory = self._made_in_memory()
        try:
            return _answer(self._memory, sql, parameters, self._problem)
        except duckdb.Error as error:
            raise _explained(error, sql) from error

    def _made_in_memory(self) -> "DuckDBPyConnection":
        import duckdb

        connection = duckdb.connect(":memory:")
        try:
            bring_up_to_date(connection, self.home, reuse=self._problem == "behind")
            _lock_down(connection, self.home)
        except BaseException:
            connection.close()
            raise
        return connection


def index_condition(home: Home) -> str:
    """Return `current`, or what is wrong with the index file: `absent`, `behind`, `locked`, `damaged`..."""
    with _open_file(home) as (_, problem):
        return problem


@contextmanager
def _open_file(home: Home) -> "Iterator[tuple[DuckDBPyConnection | None, str]]":
    """Give a locked-down connection to the index file and `current`, or None and what is wrong with the file."""
    import duckdb

    if not home.index.exists():
        yield None, "absent"
        return
    if has_log(home):
        yield None, "has a write-ahead log beside it, which another program left"
        return
    try:
        connection = duckdb.connect(str(home.index), read_only=True)
    except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:
        yield None, "locked" if "set lock" in str(error) else f"damaged ({_first_line(error)})"
        return
    with connection:
        try:
            sound = is_current(connection, home)
            if sound:
                _lock_down(connection, home)
        except duckdb.Error as error:
            yield None, f"damaged ({_first_line(error)})"
            return
        yield (connection, "current") if sound else (None, "behind")


def _lock_down(connection: "DuckDBPyConnection", home: Home) -> None:
    """Leave the connection nothing but its own tables and the files below `DAT_HOME`."""
    connection.execute("SET TimeZone = 'UTC'")
    # Sorting what does not fit into memory would otherwise write to the current folder.
    connection.execute("SET temp_directory = $1", [str(home.index.with_suffix(".duckdb.tmp"))])
    connection.execute("SET enable_progress_bar = false")  # it would stand among the rows of a long question
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    connection.execute("SET allowed_directories = [$1, $2]", [str(home.root), unpatterned(home.root)])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _only_reads(sql: str) -> None:
    import duckdb

    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise _explained(error, sql) from error
    kinds = [statement.type for statement in statements]
    if len(kinds) != 1:
        raise UserError("give exactly one statement", where="SQL")
    if kinds[0] == duckdb.StatementType.EXPLAIN:
        # EXPLAIN ANALYZE carries out what it explains.
        _only_reads(sql[explain.end() :] if (explain := _EXPLAIN.match(sql)) else "")
    elif kinds[0] != duckdb.StatementType.SELECT:
        raise UserError(
            f"{kinds[0].name} is not allowed: questions cannot change anything",
            where="SQL",
            remedy='use SELECT, DESCRIBE, SUMMARIZE or EXPLAIN, such as dat sql "DESCRIBE results"',
        )


def _answer(connection: "DuckDBPyConnection", sql: str, parameters: list[Any] | None, index: str) -> Answer:
    cursor = connection.execute(sql, parameters or [])
    described = cursor.description or []
    columns = tuple(str(column[0]) for column in described)
    types = tuple(str(column[1]) for column in described)
    return Answer(columns, types, cursor.fetchall(), index)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _explained(error: Exception, sql: str) -> UserError:
    unknown = re.search(r"Table with name (\w+) does not exist", str(error))
    if unknown:
        close = get_close_matches(unknown.group(1), VIEWS, n=1, cutoff=0.5)
        meant = f"did you mean {close[0]}? " if close else ""
        return UserError(
            f"there is no table {unknown.group(1)}",
            where="SQL",
            remedy=f"{meant}There are: {', '.join(VIEWS)}",
        )
    if ".parquet" in str(error):
        return UserError(
            str(error).strip(), where="SQL", remedy="`dat verify` finds damaged files; `dat run` heals them"
        )
    return UserError(str(error).strip(), where="SQL")
