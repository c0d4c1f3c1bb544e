"""Tables of whole views, headed by their own comments."""

from collections.abc import Callable

from tasks.reporting.document import Column, Kind, Table
from tasks.reporting.scope import Scope, identifier, literal, slugged

_MOST_ROWS = 200
_HIDDEN = frozenset({"key"})


def view_tables(scope: Scope, wanted: Callable[[str], bool]) -> tuple[list[Table], list[str]]:
    """Return a table for each wanted view that has rows for the request, and sentences on those too long for a page."""
    views = scope.ask(
        "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' ORDER BY view_name"
    )
    found = {
        str(view["view_name"]): _table(scope, str(view["view_name"]), str(view["comment"] or ""))
        for view in views
        if wanted(str(view["view_name"]))
    }
    tables = [table for table in found.values() if 0 < len(table.records) <= _MOST_ROWS]
    large = [name for name, table in found.items() if len(table.records) > _MOST_ROWS]
    return tables, [f"Too long for a page, and there in SQL: {', '.join(large)}."] if large else []


def _table(scope: Scope, view: str, comment: str) -> Table:
    described = scope.ask(
        "SELECT column_name, data_type, comment FROM duckdb_columns() "
        f"WHERE schema_name = 'main' AND table_name = {literal(view)} ORDER BY column_index"
    )
    names = {str(column["column_name"]) for column in described}
    places = {"dataset": {pair[0] for pair in scope.pairs}, "backbone": {pair[1] for pair in scope.pairs}}
    conditions = [
        f"{name} IN ({', '.join(map(literal, ['', *sorted(values)]))})"
        for name, values in places.items()
        if name in names
    ]
    where = f"\nWHERE {' AND '.join(conditions)}" if conditions else ""
    sql = f"SELECT *\nFROM {identifier(view)}{where}\nORDER BY ALL\nLIMIT {_MOST_ROWS + 1}"
    columns = [
        Column(
            str(c["column_name"]),
            str(c["column_name"]).replace("_", " "),
            _kind(str(c["data_type"])),
            hint=str(c["comment"] or ""),
        )
        for c in described
        if c["column_name"] not in _HIDDEN
    ]
    caption = f"{comment} (the view {view})"
    return scope.table(slugged("view", view), view.replace("_", " ").capitalize(), sql, columns, caption=caption)


def _kind(data_type: str) -> Kind:
    if data_type in ("DOUBLE", "FLOAT") or data_type.startswith("DECIMAL"):
        return "number"
    if data_type in ("BIGINT", "INTEGER", "HUGEINT", "UBIGINT", "SMALLINT"):
        return "count"
    if data_type.startswith("TIMESTAMP"):
        return "moment"
    return "yes" if data_type == "BOOLEAN" else "text"
