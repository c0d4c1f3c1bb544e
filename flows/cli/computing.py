"""`dat run` and `dat plan`."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from data_catalog.cell import Cell
from data_catalog.home import Home
from data_catalog.planner import Decision, Planner
from data_catalog.store import Store
from flows.cli.leaderboard import print_leaderboard
from flows.cli.output import AsJson, console, errors, note, print_json, print_table

if TYPE_CHECKING:
    from flows.benchmark import CellOutcome

Suite = Annotated[str | None, typer.Argument(help="Name of a suite (`dat ls suites`).", show_default=False)]
Datasets = Annotated[list[str] | None, typer.Option("--dataset", help="Only this dataset; may be repeated.")]
Backbones = Annotated[list[str] | None, typer.Option("--backbone", help="Only this backbone; may be repeated.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help="Only this method; may be repeated.")]
Overrides = Annotated[list[str] | None, typer.Option("--set", help="A setting, as name=value; may be repeated.")]

_SHOWN = 40


class _Rate(ProgressColumn):
    """How many a second, where that is known."""

    def render(self, task: Task) -> str:
        return f"{task.speed:.0f}/s" if task.speed else ""


def run(
    suite: Suite = None,
    dataset: Datasets = None,
    backbone: Backbones = None,
    method: Methods = None,
    overrides: Overrides = None,
    force: Annotated[bool, typer.Option("--force", help="Compute again and compare with what is stored.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute what is stale, and nothing else.

    Interrupt it whenever you like: the same command goes on where it was. A cell that fails does not stop the others.

    Examples:

        dat run demo
        dat run demo --method dat --set k=20
        dat run --dataset mine --backbone my-clip
    """
    from flows.benchmark import run_benchmark

    home = Home.from_environment()
    cells, request = _requested(home, suite, dataset, backbone, method, overrides)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=errors,
        disable=not errors.is_terminal,
        transient=True,
    )
    with progress:
        bar = progress.add_task("checking", total=len(cells))
        inner = progress.add_task("", visible=False)

        def started(cell: Cell) -> None:
            progress.update(bar, description=escape(cell.name))

        def advanced(cell: Cell, done: int, total: int) -> None:
            progress.update(inner, description=escape(cell.name), completed=done, total=total, visible=done < total)

        def settled(outcome: "CellOutcome") -> None:
            progress.advance(bar)
            if outcome.outcome != "up to date" and not as_json:
                progress.console.print(_outcome_line(outcome))

        result = run_benchmark(
            cells,
            Store(home),
            request=request,
            force=force,
            on_start=started,
            on_outcome=settled,
            on_progress=advanced,
        )

    counts = Counter(outcome.outcome for outcome in result.outcomes)
    if as_json:
        print_json(
            {
                "run_id": result.run_id,
                "outcomes": counts,
                "failed": [{"cell": o.cell.name, "outcome": o.outcome, "error": o.error} for o in result.failed],
            }
        )
    else:
        pairs = {(c.address.get("dataset"), c.address.get("backbone")) for c in cells if c.step == "metrics"}
        print_leaderboard(home, pairs)
        console.print(f"{result.run_id}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    if result.failed:
        if not as_json:
            errors.print(f"[bold red]{len(result.failed)} cells failed:[/]")
            for outcome in result.failed:
                errors.print(f"  {escape(outcome.cell.name)}: {escape(outcome.error)}")
        raise typer.Exit(1)


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
    cells, _ = _requested(home, suite, dataset, backbone, method, overrides)
    decisions = Planner(Store(home)).plan(cells)
    stale = [decision for decision in decisions if decision.action != "up to date"]
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
        console.print(f"{len(cells)} cells: " + ", ".join(f"{count} {action}" for action, count in counts.items()))
    if check and stale:
        raise typer.Exit(3)


def _requested(
    home: Home,
    suite: str | None,
    datasets: list[str] | None,
    backbones: list[str] | None,
    methods: list[str] | None,
    overrides: list[str] | None,
) -> tuple[list[Cell], str]:
    """Return the cells a command line asks for, and the request in a few words."""
    from data_catalog.specs.collection import Specs
    from tasks.experiments import Selection, parse_overrides, select
    from tasks.graph import Graph

    specs = Specs.from_environment(home)
    selection = Selection(suite, datasets or (), backbones or (), methods or (), parse_overrides(overrides or ()))
    experiments, left_out = select(selection, specs)
    for item in left_out:
        note(f"left out on {item.dataset}: {item.method}, {item.why}")
    return Graph(specs).cells(experiments), selection.describe()


def _decision_record(decision: Decision) -> dict[str, object]:
    return {
        "cell": decision.cell.name,
        "step": decision.cell.step,
        **decision.cell.address,
        "action": decision.action,
        "reason": decision.reason,
        "key": decision.key,
    }


def _outcome_line(outcome: "CellOutcome") -> str:
    colour = "red" if outcome.outcome in ("failed", "blocked") else "green"
    reason = f"[dim]({escape(outcome.reason)})[/]" if outcome.reason else ""
    return f"[{colour}]{outcome.outcome:>10}[/] {escape(outcome.cell.name)} {reason} [dim]{outcome.seconds:.2f} s[/]"
