"""Questions that cannot write: what is refused before it runs, and connections in which writing fails.

Three things stand in the way of a statement that writes: its kind and its syntax tree are looked at, it runs in a
read-only transaction, and its connection reaches no files outside `DAT_HOME`. The syntax tree is needed because a CTE
may hold DELETE, INSERT, UPDATE or COPY while the statement as a whole is a SELECT, and COPY writes a file in spite of a
read-only transaction.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.question_limits import Limits
from data_catalog.index.step_views import unpatterned

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EXPLAIN = re.compile(r"\s*EXPLAIN\b\s*(ANALYZE\b\s*)?(\([\w\s,]*\)\s*)?", re.IGNORECASE)
# In the text of a syntax tree these cannot be parts of a string of the question: its quotes would be escaped.
_NODE = re.compile(r'"type":"(\w+_NODE)"')
_FUNCTION = re.compile(r'"function_name":"(\w+)"')
_READING = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_RUNNING_TEXT = {"query", "json_execute_serialized_sql"}
"""Functions that run SQL which they are given as text, so that the syntax tree does not show it."""


def check_reads(sql: str) -> str:
    """Return the one question in `sql`, without EXPLAIN before it; a `UserError` for any other kind of statement.

    DuckDB's errors about syntax are passed on.
    """
    import duckdb

    kinds = [statement.type for statement in duckdb.extract_statements(sql)]
    if len(kinds) != 1:
        raise UserError("give exactly one statement", where="SQL")
    if kinds[0] == duckdb.StatementType.EXPLAIN:
        # EXPLAIN ANALYZE carries out what it explains.
        return check_reads(sql[explain.end() :] if (explain := _EXPLAIN.match(sql)) else "")
    if kinds[0] != duckdb.StatementType.SELECT:
        raise _refused(kinds[0].name)
    return sql


def check_writes_nothing(connection: "DuckDBPyConnection", question: str) -> None:
    """Raise a `UserError` where a question, as `check_reads` returns it, has parts that write or are hidden."""
    found = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [question]).fetchone()
    tree = str(found[0]) if found else ""
    for node in _NODE.findall(tree):
        if node not in _READING:
            raise _refused(f"{node.partition('_')[0]} inside WITH")
    for name in _FUNCTION.findall(tree):
        if name.lower() in _RUNNING_TEXT:
            raise _refused(f"{name}(), which runs SQL from a text,")
    if not tree.startswith('{"error":false'):
        raise _refused("a statement whose parts DuckDB does not tell")


@contextmanager
def reading(connection: "DuckDBPyConnection") -> Iterator[None]:
    """Run what is in here in a read-only transaction."""
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        yield
    finally:
        with suppress(Exception):  # a damaged file ends the transaction by itself
            connection.execute("ROLLBACK")


def lock_down(connection: "DuckDBPyConnection", home: Home, limits: Limits) -> None:
    """Leave the connection nothing but its own tables, the files below `DAT_HOME` and the memory it may use."""
    connection.execute("SET TimeZone = 'UTC'")
    # Sorting what does not fit into memory would otherwise write to the current folder.
    connection.execute("SET temp_directory = $1", [str(home.index.with_suffix(".duckdb.tmp"))])
    if limits.memory is not None:
        connection.execute("SET memory_limit = $1", [f"{limits.memory}B"])
    connection.execute("SET enable_progress_bar = false")  # it would stand among the rows of a long question
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    connection.execute("SET allowed_directories = [$1, $2]", [str(home.root), unpatterned(home.root)])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _refused(what: str) -> UserError:
    return UserError(
        f"{what} is not allowed: questions cannot change anything",
        where="SQL",
        remedy='use SELECT, DESCRIBE, SUMMARIZE or EXPLAIN, such as dat sql "DESCRIBE results"',
    )
