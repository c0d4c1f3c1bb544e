"""`dat why`."""

from typing import Annotated, Any

import typer
from rich.tree import Tree

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.planning.planner import Planner
from data_catalog.store.artifacts import Store
from flows.cli.terminal.escaping import escape
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, json_records, print_json, print_table, warn
from flows.cli.terminal.progress import LiveReading


def why(
    cell: Annotated[
        str, typer.Argument(help="A cell's name, a part of it, or the start of a key.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Explain a cell: whether it is stale now, what was decided about it, why, and what it was made from.

    Examples:

        dat why metrics/simbirds/simclip/zero_shot
        dat why zero_shot
    """
    home = Home.from_environment()
    name = _one_cell(home, cell)
    decisions = query(
        home,
        "SELECT run_id, decided, action, reason, outcome, key, seconds, error FROM decisions "
        "WHERE cell = ? ORDER BY run_id DESC, position DESC LIMIT 10",
        [name],
    )
    versions = query(
        home,
        "SELECT key, current, created, run_id, rows, path, params, facts, code FROM artifacts "
        "WHERE cell = ? ORDER BY created DESC",
        [name],
    )
    now = _present_state(home, name)
    warn(dict.fromkeys(decisions.warnings + versions.warnings))
    current = next((record for record in versions.records() if record["current"]), None)
    lineage = _lineage(home, current["key"]) if current else []
    if as_json:
        print_json(
            {"cell": name, "decisions": decisions.records(), "versions": json_records(versions), "lineage": lineage}
        )
        return
    console.print(f"[bold]{escape(name)}[/]\nnow: {escape(now)}")
    rows = [
        (row["run_id"], row["decided"], row["outcome"], row["reason"] or "nothing changed", row["error"] or "")
        for row in decisions.records()
    ]
    if any(row[-1] for row in rows):
        print_table(("run", "when", "outcome", "why", "error"), rows)
    else:
        print_table(("run", "when", "outcome", "why"), [row[:-1] for row in rows])
    if current is None:
        console.print("there is no artifact of this cell now")
        return
    console.print(f"\nkey {escape(current['key'])}\nfile {escape(str(home.root / current['path']))}")
    console.print(f"settings {escape(current['params'])}", soft_wrap=True)
    if current["facts"] != "{}":
        console.print(f"facts {escape(current['facts'])}")
    tree = Tree(escape(name), guide_style="dim")
    _grow(tree, lineage, current["key"])
    console.print("\nmade from:")
    console.print(tree)


def _one_cell(home: Home, text: str) -> str:
    """Return the one cell that a person means."""
    from data_catalog.specs.collection import unknown

    known: list[tuple[str, str | None]]
    known = query(home, "SELECT cell, key FROM artifacts UNION SELECT cell, key FROM decisions").rows
    names = sorted({cell for cell, _ in known})
    if text in names:
        return text
    by_key = {cell for cell, key in known if key and len(text) >= 6 and key.startswith(text)}
    found = sorted(by_key or {name for name in names if text in name})
    if len(found) > 1:
        metrics = [name for name in found if name.startswith("metrics/") and name.endswith(f"/{text}")]
        if len(metrics) == 1:
            return metrics[0]
        shown = ", ".join(found[:8]) + (" …" if len(found) > 8 else "")
        raise UserError(f"{len(found)} cells match {text}", remedy=f"name one of: {shown}")
    if not found:
        raise unknown("cell", text, names, 'dat sql "SELECT DISTINCT cell FROM artifacts"')
    return found[0]


def _present_state(home: Home, name: str) -> str:
    """Return whether a cell is up to date now, and if not, why."""
    from data_catalog.specs.collection import Specs
    from tasks.graph.graph import Graph

    address = query(
        home,
        "SELECT dataset, backbone, method, variant, seed FROM decisions WHERE cell = ? "
        "UNION SELECT dataset, backbone, method, variant, seed FROM artifacts WHERE cell = ?",
        [name, name],
    ).records()[0]
    step = name.partition("/")[0]
    try:
        with LiveReading() as live:
            cells = Graph(Specs.from_environment(home), progress=live).cells_at(address, step)
        decisions = Planner(Store(home)).plan(cells)
    except UserError as error:
        return f"cannot be planned: {error.problem}"
    decision = next(decision for decision in decisions if decision.cell.name == name)
    return decision.action if decision.action == "up to date" else f"stale ({decision.reason})"


def _lineage(home: Home, key: str) -> list[dict[str, Any]]:
    return query(
        home,
        "WITH RECURSIVE up AS (SELECT * FROM lineage WHERE key = ? UNION "
        "SELECT l.* FROM lineage l JOIN up ON l.key = up.parent_key) "
        "SELECT DISTINCT key, cell, role, parent_key, parent_cell FROM up ORDER BY cell, role",
        [key],
    ).records()


def _grow(tree: Tree, lineage: list[dict[str, Any]], key: str) -> None:
    for link in lineage:
        if link["key"] == key:
            name = link["parent_cell"] or "(collected)"
            branch = tree.add(f"{escape(link['role'])}: {escape(name)} [dim]{escape(link['parent_key'][:12])}[/]")
            _grow(branch, lineage, link["parent_key"])
