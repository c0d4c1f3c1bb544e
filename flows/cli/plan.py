"""`dat plan`."""

from collections import Counter
from typing import Annotated

import typer

from data_catalog.home import Home
from data_catalog.planning.planner import Decision, Planner
from data_catalog.store.artifacts import Store
from flows.cli.memory import Memory
from flows.cli.terminal.options import AsJson, Backbones, Datasets, Methods, Overrides, Suite
from flows.cli.terminal.output import console, copied, print_json, print_table
from flows.request import Request

_SHOWN = 40


def plan(
    suite: Suite = None,
    dataset: Datasets = None,
    backbone: Backbones = None,
    method: Methods = None,
    overrides: Overrides = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 3 when something is stale.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="List every cell, also those up to date.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show which cells would run, and why, without running them.

    Examples:

        dat plan demo
        dat plan demo --check && echo "nothing to do"
    """
    home = Home.from_environment()
    memory = Memory(home)
    requested = memory.resolved(Request(suite, dataset or (), backbone or (), method or (), overrides or ()))
    decisions = Planner(Store(home), memory.code).plan(requested.cells)
    memory.sources.save()
    stale = [decision for decision in decisions if decision.action != "up to date"]
    with copied("stdout") as printed:
        _print_plan(decisions, stale, everything=everything, as_json=as_json)
    if not stale:
        memory.keep(requested, printed.text)
    elif check:
        raise typer.Exit(3)


def _print_plan(decisions: list[Decision], stale: list[Decision], *, everything: bool, as_json: bool) -> None:
    if as_json:
        print_json([_decision_record(decision) for decision in decisions])
    else:
        shown = decisions if everything else stale
        listed = shown if everything else shown[:_SHOWN]
        if listed:
            print_table(("cell", "action", "why"), [(d.cell.name, d.action, d.reason) for d in listed])
        if len(shown) > len(listed):
            console.print(f"… and {len(shown) - len(listed)} more (--all lists them)")
        counts = Counter(decision.action for decision in decisions)
        console.print(f"{len(decisions)} cells: " + ", ".join(f"{count} {action}" for action, count in counts.items()))


def _decision_record(decision: Decision) -> dict[str, object]:
    return {
        "cell": decision.cell.name,
        "step": decision.cell.step,
        **decision.cell.address,
        "action": decision.action,
        "reason": decision.reason,
        "key": decision.key,
    }
