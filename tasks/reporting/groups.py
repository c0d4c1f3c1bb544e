"""Accuracy per group: where a method is strong and where it fails, as heat maps."""

from collections.abc import Iterator

from tasks.reporting.document import Column, Figure, Section, Table
from tasks.reporting.figures import draw_heat_map
from tasks.reporting.scope import Scope, identifier, literal, slugged

_MOST_GROUPS = 24


def groups_section(scope: Scope) -> Section:
    """Return a heat map and a table for each dataset and backbone."""
    tables = list(_tables(scope))
    if not tables:
        return Section("groups", "Groups", remark="No result is there yet.")
    figures: list[Figure] = []
    for table in tables:
        groups = [column for column in table.columns if column.heat]
        names = [column.name for column in groups]
        figures.append(
            draw_heat_map(f"heat-{table.slug}", "Accuracy per group", "groups", table.title, names, table.records)
        )
    return Section("groups", "Accuracy per group", tables=tables, figures=figures)


def _tables(scope: Scope) -> Iterator[Table]:
    has_main = any(not result[3] for result in scope.results)
    where = scope.where(variants=False) if has_main else scope.where()
    for dataset, backbone in scope.pairs:
        here = f"dataset = {literal(dataset)} AND backbone = {literal(backbone)}"
        found = scope.ask(
            "SELECT group_name, max(total) AS total FROM group_accuracy "
            f"WHERE {where} AND {here} GROUP BY group_name, label, attribute "
            "HAVING max(total) > 0 ORDER BY label, attribute"
        )
        names = [str(row["group_name"]) for row in found]
        if not names:
            continue
        sizes = {str(row["group_name"]): row["total"] for row in found}
        caption = "Percent of each group's test samples that are right."
        if len(names) > _MOST_GROUPS:
            caption += f" The first {_MOST_GROUPS} of {len(names)} groups; the view group_accuracy has all."
            names = names[:_MOST_GROUPS]
        chosen = [f"avg(accuracy) FILTER (group_name = {literal(name)}) AS {identifier(name)}" for name in names]
        sql = (
            "SELECT method, variant,\n    "
            + ",\n    ".join(chosen)
            + f"\nFROM group_accuracy\nWHERE {where}\n    AND {here}\n"
            "GROUP BY method, variant\nORDER BY min(accuracy) DESC, method, variant"
        )
        columns = [Column("method", "Method"), *([] if has_main else [Column("variant", "Settings")])]
        columns += [
            Column(name, name, "percent", "highest", heat=True, hint=f"{sizes[name]} test samples") for name in names
        ]
        title = f"{dataset} × {backbone}"
        yield scope.table(slugged("groups", dataset, backbone), title, sql, columns, caption=caption)
