"""Questions in SQL: on the index file where it is sound, else on an index in memory, made from the manifests.

A question never changes anything, never reads outside `DAT_HOME`, never waits for a run and never fails because of one.
It can be stopped at any time, and what was stopped is not tried again on another index.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from data_catalog.errors import FailureError, UserError
from data_catalog.home import Home
from data_catalog.index.database import bring_up_to_date, has_log, is_current
from data_catalog.index.interruption import Work
from data_catalog.index.question_limits import UNLIMITED, Limits, out_of_memory, resident_memory
from data_catalog.index.read_only import check_reads, check_writes_nothing, lock_down, reading
from data_catalog.index.soundness import Damage, known_damage, warnings_about
from data_catalog.index.views import VIEWS
from data_catalog.suggestions import did_you_mean

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BATCH = 1000
_COUNTING = 2.0
"""Seconds that counting the rows which are not returned may take."""


@dataclass(frozen=True)
class Answer:
    """Rows with their column names and DuckDB types.

    `index` says what answered: `file` or why it was not the file. `total` is how many rows there are in all, more than
    `rows` where those are limited; None where that takes too long to count. `warnings` name what the answer rests on
    and is damaged, missing or unverified: with none, all that was read is as it was published.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    index: str
    total: int | None
    warnings: tuple[str, ...] = ()

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def query(home: Home, sql: str, parameters: list[Any] | None = None, limits: Limits = UNLIMITED) -> Answer:
    """Answer one SELECT; a `UserError` for anything else and for wrong SQL, a `LimitError` beyond its limits."""
    with Questions(home, limits) as questions:
        return questions.ask(sql, parameters)


class Questions:
    """Many questions, one after the other, by one thread: an index that must be made in memory is made once."""

    def __init__(self, home: Home, limits: Limits = UNLIMITED) -> None:
        self.home = home
        self.warnings: dict[str, None] = {}
        """What the answers so far warn about, each once."""
        self.limits = limits
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
        answer = self._ask(sql, parameters)
        self.warnings.update(dict.fromkeys(answer.warnings))
        return answer

    def damage(self) -> list[Damage]:
        """Return all that is damaged or missing, as far as it is known without reading data files."""
        return known_damage(self.home, lambda sql: self.ask(sql).rows)

    def _ask(self, sql: str, parameters: list[Any] | None) -> Answer:
        import duckdb

        try:
            check_reads(sql)
        except duckdb.Error as error:
            raise _explained(error, sql) from error
        work = Work(lambda work: self._answered(work, sql, parameters or []))
        try:
            return work.finished(self.limits.seconds)
        finally:
            if work.abandoned:
                self._memory = None  # its thread still uses it

    def _answered(self, work: "Work[Answer]", sql: str, parameters: list[Any]) -> Answer:
        import duckdb

        try:
            if self._memory is None:
                try:
                    with _open_file(self.home, self.limits) as (connection, self._problem):
                        if connection is not None:
                            return _answer(connection, self.home, sql, parameters, "file", self.limits, work)
                except (
                    duckdb.ProgrammingError,
                    duckdb.DataError,
                    duckdb.NotSupportedError,
                    duckdb.PermissionException,
                ) as error:
                    raise _explained(error, sql) from error
                except duckdb.OutOfMemoryException:
                    raise
                except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:
                    # Not the question's fault. A wrong block checksum, for one, comes as a plain duckdb.Error.
                    self._problem = f"damaged ({_first_line(error)})"
                work.go_on()
                self._memory = self._made_in_memory(work)
            return _answer(self._memory, self.home, sql, parameters, self._problem, self.limits, work)
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise out_of_memory(self.limits.memory, _first_line(error)) from error
        except duckdb.Error as error:
            raise _explained(error, sql) from error

    def _made_in_memory(self, work: "Work[Answer]") -> "DuckDBPyConnection":
        import duckdb

        connection = duckdb.connect(":memory:")
        try:
            work.uses(connection)
            bring_up_to_date(connection, self.home, reuse=self._problem == "behind")
            lock_down(connection, self.home, self.limits)
        except BaseException:
            connection.close()
            raise
        return connection


def index_condition(home: Home) -> str:
    """Return `current`, or what is wrong with the index file: `absent`, `behind`, `locked`, `damaged`..."""

    def condition(_: "Work[str]") -> str:
        with _open_file(home, UNLIMITED) as (_connection, problem):
            return problem

    return Work(condition).finished()


@contextmanager
def _open_file(home: Home, limits: Limits) -> "Iterator[tuple[DuckDBPyConnection | None, str]]":
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
                lock_down(connection, home, limits)
        except duckdb.Error as error:
            yield None, f"damaged ({_first_line(error)})"
            return
        yield (connection, "current") if sound else (None, "behind")


def _answer(
    connection: "DuckDBPyConnection",
    home: Home,
    sql: str,
    parameters: list[Any],
    index: str,
    limits: Limits,
    work: "Work[Answer]",
) -> Answer:
    work.uses(connection)
    with reading(connection):
        check_writes_nothing(connection, check_reads(sql))
        warnings = warnings_about(connection, home, sql, parameters)
        work.go_on()
        try:
            cursor = connection.execute(sql, parameters)
            described = cursor.description or []
            rows = _fetched(cursor, limits, work)
        except Exception as error:
            for warning in warnings:
                error.add_note(warning)  # most likely the cause
            raise
        columns = tuple(str(column[0]) for column in described)
        types = tuple(str(column[1]) for column in described)
        total: int | None = len(rows)
        if limits.rows is not None and len(rows) > limits.rows:
            rows, total = rows[: limits.rows], _counted(connection, sql, parameters)
    return Answer(columns, types, rows, index, total, warnings)


def _fetched(cursor: "DuckDBPyConnection", limits: Limits, work: "Work[Answer]") -> list[tuple[Any, ...]]:
    """Return the rows, or where there are more than the limit, one more than that."""
    rows: list[tuple[Any, ...]] = []
    before = resident_memory()
    while batch := cursor.fetchmany(_BATCH if limits.rows is None else min(_BATCH, limits.rows + 1 - len(rows))):
        work.go_on()
        rows += batch
        if limits.memory is not None and resident_memory() - before > 2 * limits.memory:
            raise out_of_memory(limits.memory, f"it has {len(rows):,} rows and more")
        if limits.rows is not None and len(rows) > limits.rows:
            break
    return rows


def _counted(connection: "DuckDBPyConnection", sql: str, parameters: list[Any]) -> int | None:
    """Return how many rows a question has, or None where that is not found out soon."""
    import duckdb

    impatience = threading.Timer(_COUNTING, connection.interrupt)
    impatience.daemon = True
    impatience.start()
    try:
        found = connection.execute(f"SELECT count(*) FROM (\n{sql.strip().rstrip(';')}\n)", parameters).fetchone()
    except duckdb.Error:
        return None
    finally:
        impatience.cancel()
    return int(found[0]) if found else None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _explained(error: Exception, sql: str) -> UserError:
    unknown = re.search(r"Table with name (\w+) does not exist", str(error))
    if unknown:
        name = unknown.group(1)
        remedy = f"{did_you_mean(name, VIEWS)}There are: {', '.join(VIEWS)}"
        return UserError(f"there is no table {name}", where="SQL", remedy=remedy)
    notes = "; ".join(getattr(error, "__notes__", []))
    if ".parquet" in str(error) and ".parquet" not in sql:  # a file behind a view, not one that the question names
        heal = "`dat verify` finds damaged files; `dat run` heals them"
        return FailureError(str(error).strip(), where="SQL", remedy=notes or heal)
    return UserError(str(error).strip(), where="SQL", remedy=notes or None)
