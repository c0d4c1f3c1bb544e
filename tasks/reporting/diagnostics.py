"""Whatever else the catalog has views of, such as diagnostics and theory: a table each, headed by its own comment."""

from tasks.reporting.diagnostic_figures import diagnostic_figures
from tasks.reporting.document import Column, Kind, Section, Table
from tasks.reporting.scope import Scope, identifier, literal, slugged

# Those that other sections, or figures, show.
_SHOWN_ELSEWHERE = frozenset(
    {
        "artifacts",
        "comparisons",
        "costs",
        "decisions",
        "diagnostic_margin_histograms",
        "drift",
        "group_accuracy",
        "leaderboard",
        "lineage",
        "paper",
        "predictions",
        "results",
        "runs",
        "sweeps",
        "vs_paper",
    }
)
_MOST_ROWS = 200
_HIDDEN = frozenset({"key"})


def diagnostics_section(scope: Scope) -> Section:
    """Return a table for each further view that has rows for these datasets and backbones."""
    views = scope.ask(
        "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' ORDER BY view_name"
    )
    found = {
        str(view["view_name"]): _table(scope, str(view["view_name"]), str(view["comment"] or ""))
        for view in views
        if view["view_name"] not in _SHOWN_ELSEWHERE
    }
    tables = [table for table in found.values() if 0 < len(table.records) <= _MOST_ROWS]
    large = [name for name, table in found.items() if len(table.records) > _MOST_ROWS]
    text = [f"Too long for a page, and there in SQL: {', '.join(large)}."] if large else []
    figures = list(diagnostic_figures(scope))
    remark = "" if tables or large or figures else "The catalog has no diagnostics of these datasets and backbones."
    return Section("diagnostics", "Diagnostics", text, tables, figures, remark=remark)


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
