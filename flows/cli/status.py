"""`dat status`."""

import json
from dataclasses import asdict
from typing import Any

from data_catalog.home import Home
from data_catalog.index.reader import Questions, index_condition, query
from data_catalog.store.runs import is_running
from flows.cli.terminal.escaping import escape
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, print_json, print_table, size_text

_WIDEST = 20
_LISTED = 20


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
