"""`dat run`."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from data_catalog.errors import begun
from data_catalog.home import Home
from data_catalog.index.reader import Questions
from data_catalog.planning.planner import Planner
from data_catalog.store.artifacts import Store
from flows.cli.memory import Memory
from flows.cli.terminal.escaping import escape, shortened
from flows.cli.terminal.leaderboard import not_applicable, print_leaderboard
from flows.cli.terminal.options import AsJson, Backbones, Datasets, Methods, Overrides, Suite
from flows.cli.terminal.output import console, copied, errors, print_json, print_table
from flows.cli.terminal.progress import LiveSteps
from flows.request import Request, Requested, write_report_on

if TYPE_CHECKING:
    from tasks.engine.run import Summary


class Runner(StrEnum):
    """Where the work is done."""

    threads = "threads"
    dask = "dask"
    inline = "inline"


def run(
    suite: Suite = None,
    dataset: Datasets = None,
    backbone: Backbones = None,
    method: Methods = None,
    overrides: Overrides = None,
    force: Annotated[bool, typer.Option("--force", help="Compute again and compare with what is stored.")] = False,
    runner: Annotated[
        Runner,
        typer.Option(
            envvar="DAT_RUNNER",
            help="Prefect with threads of this process, Prefect with Dask, or one cell after another without Prefect.",
        ),
    ] = Runner.threads,
    workers: Annotated[
        int, typer.Option(min=1, help="Batches (dataset x backbone) that run at the same time; with Dask, processes.")
    ] = 1,
    dask_address: Annotated[
        str | None, typer.Option(help="A Dask scheduler, such as tcp://host:8786, instead of a cluster of our own.")
    ] = None,
    gpu_slots: Annotated[int, typer.Option(min=1, help="Cells that may use one GPU at the same time.")] = 1,
    report: Annotated[
        bool, typer.Option(envvar="DAT_REPORT", help="Write the report when something was computed (`dat report`).")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Compute what is stale, and nothing else.

    Interrupt it whenever you like: the same command goes on where it was. A cell that fails does not stop the others.
    A method that a dataset cannot serve (no group has enough references) is not applicable: it is listed with the
    reason, has no number, and did not fail.
    The work is run by Prefect: on the server that `PREFECT_API_URL` names, or on a temporary one. What is up to date,
    the catalog decides.

    Examples:

        dat run demo
        dat run demo --method dat --set k=20
        dat run --dataset mine --backbone my-clip
        dat run paper --runner dask --workers 4
    """
    from tasks.engine.events import listening
    from tasks.engine.run import run_benchmark

    home = Home.from_environment()
    request = Request(suite, dataset or (), backbone or (), method or (), overrides or ())
    memory = Memory(home)
    requested = memory.resolved(request)
    planner = Planner(Store(home), memory.code, forced=lambda cell: force)
    stale = [decision for decision in planner.plan(requested.cells) if decision.action != "up to date"]
    with LiveSteps(requested.cells, quiet=as_json) as live, listening(live):
        if stale and runner is not Runner.inline:
            from flows.launch import launch

            summary = launch(
                request,
                home,
                force=force,
                runner="dask" if runner is Runner.dask else "threads",
                workers=workers,
                dask_address=dask_address,
                gpu_slots=gpu_slots,
                write_report=report and not as_json,
                embeds=any(decision.cell.step == "weights" for decision in stale),
            )
        else:
            options = {"request": requested.words, "force": force, "gpu_slots": gpu_slots, "code": memory.code}
            summary = run_benchmark(requested.cells, Store(home), **options).summary()
            if report and not as_json and summary.has_made_something:
                with begun():
                    summary = replace(summary, report=str(write_report_on(requested, home)))
    memory.sources.save()
    with copied("stdout") as printed, memory.remarks():
        _print_result(home, requested, summary, as_json=as_json)
    if not stale:
        memory.keep(requested, printed.text, summary.run_id)
    if summary.failed:
        raise typer.Exit(1)


def _print_result(home: Home, requested: Requested, summary: "Summary", *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "run_id": summary.run_id,
                "outcomes": summary.counts,
                "failed": [{"cell": one.cell, "outcome": one.outcome, "error": one.error} for one in summary.failed],
                "drifted": [{"cell": one.cell, **one.drift} for one in summary.drifted],
                "not_applicable": _not_applicable(home, requested),
            }
        )
        return
    pairs = {(c.address.get("dataset"), c.address.get("backbone")) for c in requested.cells if c.step == "metrics"}
    print_leaderboard(home, pairs)
    console.print(f"{summary.run_id}: " + ", ".join(f"{count} {name}" for name, count in summary.counts.items()))
    if summary.drifted:
        console.print("[bold yellow]drifted:[/] what was computed again differs from what is stored, which is kept")
        columns = ("cell", "largest difference", "WG change", "Avg change")
        names = ("difference", "wg_change", "avg_change")
        print_table(columns, [(one.cell, *(_number(one.drift.get(name)) for name in names)) for one in summary.drifted])
    if summary.failed:
        errors.print(f"[bold red]{len(summary.failed)} cells failed:[/]")
        for one in summary.failed:
            errors.print(f"  {escape(one.cell)}: {escape(shortened(one.error))}")
    if summary.report is not None:
        console.print(f"report: {escape(summary.report)}")


def _not_applicable(home: Home, requested: Requested) -> list[dict[str, object]]:
    """Return which of the results asked for the datasets cannot serve, and why; also those found out earlier."""
    asked = {_place(cell.address) for cell in requested.cells if cell.step == "metrics"}
    with Questions(home) as questions:
        return [entry for entry in not_applicable(questions) if _place(entry) in asked]


def _place(address: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(address[name] for name in ("dataset", "backbone", "method", "variant", "seed"))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
