"""`dat why`, `dat status`, `dat sql` and `dat ls`: looking without changing anything."""

import csv
import json
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.tree import Tree

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.question_limits import (
    MEMORY_VARIABLE,
    ROWS_VARIABLE,
    TIMEOUT_VARIABLE,
    Limits,
    default_memory,
    parse_memory,
    parse_rows,
    parse_seconds,
)
from data_catalog.index.reader import Answer, Questions, index_condition, query
from data_catalog.planning.planner import Planner
from data_catalog.store.artifacts import Store
from data_catalog.store.runs import is_running
from flows.cli.escaping import escape, no_formula, shown
from flows.cli.interruption import orderly_termination
from flows.cli.live import LiveReading
from flows.cli.output import AsJson, complain, console, note, print_json, print_table, size_text, warn

_WIDEST = 20
_SHOWN_ROWS = 40
_LISTED = 20


class Format(StrEnum):
    """How `dat sql` prints."""

    table = "table"
    csv = "csv"
    json = "json"


class Listing(StrEnum):
    """What `dat ls` lists."""

    datasets = "datasets"
    backbones = "backbones"
    methods = "methods"
    prompts = "prompts"
    suites = "suites"


def sql(
    question: Annotated[
        str | None, typer.Argument(help="One SELECT, DESCRIBE or SUMMARIZE.", show_default=False)
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How to print the answer.")] = Format.table,
    shell: Annotated[bool, typer.Option("--shell", help="Ask one question after the other.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where data behind the answer is damaged, missing or unverified.")
    ] = False,
    timeout: Annotated[
        str | None,
        typer.Option(envvar=TIMEOUT_VARIABLE, metavar="SECONDS", help="Stop a question that takes longer."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            envvar=MEMORY_VARIABLE,
            metavar="SIZE",
            help="Memory for a question, and as much again for its rows, such as 4GB; by default a quarter of all.",
        ),
    ] = None,
    max_rows: Annotated[
        str | None,
        typer.Option(
            envvar=ROWS_VARIABLE,
            metavar="N",
            help=f"Rows to show, 0 for all; by default {_SHOWN_ROWS} in a table on a terminal, else all.",
        ),
    ] = None,
) -> None:
    """Ask the catalog a question in SQL. Ctrl-C stops it.

    Views: results, group_accuracy, predictions, comparisons, leaderboard, paper, vs_paper, artifacts, lineage, runs,
    decisions, drift, costs and others: `--shell` and `.views` lists them all. `DESCRIBE results` lists columns; `SELECT
    column_name, comment FROM duckdb_columns() WHERE table_name = 'results'` explains them. In CSV, a text that a
    spreadsheet would take for a formula has an apostrophe before it; JSON has it as it is. A question that goes over
    its time or memory is stopped, with exit code 1.

    Data files are checked by their digests before they are first asked about, when they have changed, and once a day.
    What is damaged, missing or unverified behind an answer is named in warnings on standard error. `--strict` prints no
    such answer and ends with exit code 1.

    Examples:

        dat sql "SELECT method, wg, avg FROM leaderboard WHERE dataset = 'simbirds'"
        dat sql "SELECT * FROM results" --format csv > results.csv
        dat sql "SELECT cell, reason FROM decisions WHERE outcome = 'computed'" --format json
        dat sql --shell
    """
    home = Home.from_environment()
    limits = _limits(timeout, memory, max_rows, output)
    if shell:
        from flows.cli.shell import run_shell

        with orderly_termination():
            run_shell(home, lambda answer: _print_answer(answer, output, strict=strict), limits)
    elif question is None:
        raise UserError("what is the question?", remedy='dat sql "SELECT * FROM leaderboard", or dat sql --shell')
    else:
        with orderly_termination():
            printed = _print_answer(query(home, question, limits=limits), output, strict=strict)
        if not printed:
            raise typer.Exit(1)


def _limits(timeout: str | None, memory: str | None, max_rows: str | None, output: Format) -> Limits:
    """Return the limits that options or variables set, else the default ones."""
    by_default = _SHOWN_ROWS if output is Format.table and console.is_terminal else 0
    rows = parse_rows(max_rows) if max_rows else by_default
    return Limits(
        parse_seconds(timeout) if timeout else None,
        parse_memory(memory) if memory else default_memory(),
        rows or None,
    )


def _print_answer(answer: Answer, output: Format, *, strict: bool = False) -> bool:
    """Print an answer and its warnings; return whether it was printed, which `strict` allows without warnings only."""
    _mention_index(answer)
    warn(answer.warnings)
    if strict and answer.warnings:
        complain(UserError("this answer cannot be vouched for", where="--strict", remedy="see the warnings above"))
        return False
    if output is Format.json:
        print_json(_records(answer))
    elif output is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows([[_csv_cell(value) for value in row] for row in answer.rows])
    else:
        print_table(answer.columns, answer.rows, too_wide="records")
        if console.is_terminal and answer.total == len(answer.rows):
            console.print(f"[dim]{answer.total} rows[/]")
    if answer.total != len(answer.rows):
        of_all = "; there are more" if answer.total is None else f" of {answer.total:,}"
        note(f"the first {len(answer.rows):,} rows{of_all} (--max-rows 0 shows all)")
    return True


def _csv_cell(value: Any) -> Any:
    """Return a value as it stands in CSV: exactly, save what a spreadsheet, a terminal or UTF-8 would stumble over."""
    if not isinstance(value, str):
        return value
    harmless = no_formula(value)
    return shown(harmless) if sys.stdout.isatty() else harmless.encode("utf-8", "backslashreplace").decode()


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
        print_json({"cell": name, "decisions": decisions.records(), "versions": _records(versions), "lineage": lineage})
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


def status(as_json: AsJson = False) -> None:
    """Show what the store holds, how large it is, what is damaged or missing, and how the last runs ended.

    No data file is read: `dat verify` does that.
    """
    home = Home.from_environment()
    steps = query(
        home,
        "SELECT step, count(*) AS artifacts, count(*) FILTER (current) AS current, sum(bytes)::BIGINT AS bytes "
        "FROM artifacts GROUP BY step ORDER BY min(created)",
    )
    runs = query(
        home,
        "SELECT run_id, started, finished, status, command, request, computed, up_to_date, failed, not_applicable "
        "FROM runs ORDER BY run_id DESC LIMIT 5",
    )
    recent = [
        {
            **run,
            "status": "running" if run["status"] == "unfinished" and is_running(home, run["run_id"]) else run["status"],
        }
        for run in runs.records()
    ]
    condition = index_condition(home)
    aside = len(list(home.quarantine.glob("*.json")))
    with Questions(home) as questions:
        damage = questions.damage()
    if as_json:
        print_json(
            {
                "home": str(home.root),
                "index": condition,
                "quarantined": aside,
                "damage": [asdict(one) for one in damage],
                "steps": steps.records(),
                "runs": recent,
            }
        )
        return
    console.print(f"home   {escape(str(home.root))}{'' if home.root.exists() else ' (nothing there yet)'}")
    console.print(f"index  {escape(condition)}")
    if aside:
        console.print(f"[red]{aside} damaged artifacts are set aside; `dat run` computes them again[/]")
    if damage:
        console.print(f"[red]{len(damage)} damaged or missing, which answers leave out:[/]")
        print_table(("kind", "what", "problem"), [(one.kind, one.name, one.problem) for one in damage[:_LISTED]])
        if len(damage) > _LISTED:
            console.print(f"… and {len(damage) - _LISTED} more (--json lists them)")
    if steps.rows:
        rows = [(step, count, current, size_text(size)) for step, count, current, size in steps.rows]
        print_table(("step", "artifacts", "current", "size"), rows)
    if recent:
        print_table(("run", "started", "status", "request", "computed"), [_run_row(run) for run in recent])


def _run_row(run: dict[str, Any]) -> tuple[str, ...]:
    asked = json.loads(run["request"] or "{}").get("request", "")
    words = f"{run['command']} {asked}"
    request = words if len(words) <= _WIDEST else f"{words[: _WIDEST - 1]}…"
    total = sum(run[name] for name in ("computed", "up_to_date", "failed", "not_applicable"))
    started = run["started"].strftime("%Y-%m-%d %H:%M") if run["started"] else ""
    return run["run_id"], started, run["status"], request, f"{run['computed']} of {total}"


def list_specs(
    kind: Annotated[Listing, typer.Argument(help="What to list.")],
    as_json: AsJson = False,
) -> None:
    """List datasets, backbones, methods, prompt sets or suites.

    Examples:

        dat ls suites
        dat ls methods --json
    """
    records = _method_records() if kind is Listing.methods else _spec_records(Home.from_environment(), kind)
    if as_json:
        print_json(records)
    elif records:
        print_table(tuple(records[0]), [tuple(record.values()) for record in records])
    else:
        console.print(f"there are no {kind.value} yet")


def _spec_records(home: Home, kind: Listing) -> list[dict[str, Any]]:
    from data_catalog.specs.collection import Specs

    specs = Specs.from_environment(home)
    records = []
    for name in specs.names(kind.value):
        try:
            path = specs.path(kind.value, name)
            reader = {"datasets": specs.dataset, "backbones": specs.backbone, "suites": specs.suite}
            spec = reader.get(kind.value, specs.prompt_set)(name)
            title = getattr(spec, "title", "") or getattr(spec, "source", "")
            records.append({"name": name, "file": _near(path), "title": title})
        except UserError as error:
            records.append({"name": name, "file": str(error.where), "title": f"BROKEN: {error.problem}"})
    return records


def _method_records() -> list[dict[str, Any]]:
    from dat_lib.methods.registry import make_method
    from tasks.graph.experiments import known_methods

    records = []
    for name in known_methods():
        method = make_method(name)
        needs = method.needs.in_full()
        reads = [f"{role} prompts" for role in needs.text]
        pool = [
            what for what, needed in (("labels", needs.pool_labels), ("attributes", needs.pool_attributes)) if needed
        ]
        if needs.pool:
            reads.append(f"reference images{' with ' if pool else ''}{' and '.join(pool)}")
        if needs.test_attributes:
            reads.append("test attributes")
        records.append({"name": name, "title": method.title, "reads": ", ".join(reads)})
    return records


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


def _records(answer: Answer) -> list[dict[str, Any]]:
    """Return rows as dictionaries, JSON columns as the data they hold."""
    return [
        {
            name: json.loads(value) if kind == "JSON" and value is not None else value
            for name, kind, value in zip(answer.columns, answer.types, row, strict=True)
        }
        for row in answer.rows
    ]


def _mention_index(answer: Answer) -> None:
    if answer.index not in ("file", "behind", "absent"):
        note(f"the index file is {answer.index}; answered from the manifests (`dat catalog rebuild` mends it)")


def _near(path: Path) -> str:
    """Return `shipped` for a file of ours, else its path, from here where it is below."""
    if "data_catalog" in path.parts:
        return "shipped"
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
