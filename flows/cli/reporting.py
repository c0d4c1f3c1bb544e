"""`dat report` and `dat explain`: results to look at."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from data_catalog.home import Home
from data_catalog.index.reader import Questions
from data_catalog.specs.paths import expanded
from flows.cli.computing import Backbones, Datasets, Methods, Overrides, Suite
from flows.cli.escaping import escape
from flows.cli.output import AsJson, console, note, print_json, print_table, warn
from flows.request import Request, resolve, write_report_on

if TYPE_CHECKING:
    from tasks.reporting.explanation import Explanation


def report(
    suite: Suite = None,
    dataset: Datasets = None,
    backbone: Backbones = None,
    method: Methods = None,
    overrides: Overrides = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Folder to write to; by default DAT_HOME/reports/NAME.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    serve: Annotated[bool, typer.Option("--serve", help="Offer it to this machine over HTTP until Ctrl-C.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port for --serve; 0 is any that is free.")] = 8000,
) -> None:
    """Write what is known about a suite as one page, and as Markdown, CSV, LaTeX and figures beside it.

    It computes nothing: what is missing or stale is `dat run`'s to mend. `index.html` needs no other file and no
    network.

    Examples:

        dat report demo --open
        dat report demo --output results/demo
        dat report --dataset birds --backbone my-clip --serve
    """
    home = Home.from_environment()
    requested = resolve(Request(suite, dataset or (), backbone or (), method or (), overrides or ()), home)
    page = write_report_on(requested, home, expanded(output) if output else None)
    console.print(escape(str(page)))
    if show:
        _open(page.as_uri())
    if serve:
        _serve(page.parent, port, show=show)


def explain(
    dataset: Annotated[str, typer.Argument(help="Name of a dataset.", show_default=False)],
    backbone: Annotated[str, typer.Argument(help="Name of a backbone.", show_default=False)],
    sample: Annotated[str, typer.Argument(help="A test sample, by its id.", show_default=False)],
    method: Annotated[str, typer.Option(help="dat or dat_star.")] = "dat",
    variant: Annotated[str, typer.Option(help="Settings other than the dataset's own, such as k=20.")] = "",
    nearest: Annotated[int, typer.Option(min=1, help="How many references of each group to name.")] = 5,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write a page with the images to this folder.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open that page in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take one prediction apart: each group's similarity, density and translated score, and the nearest references.

    Examples:

        dat explain toybirds toyclip test-0007
        dat explain toybirds toyclip test-0007 --method dat_star --open
    """
    from tasks.reporting.explanation import explain as take_apart

    home = Home.from_environment()
    with Questions(home) as questions:
        found = take_apart(questions, dataset, backbone, sample, method=method, variant=variant, nearest=nearest)
        warn(questions.warnings)
    if as_json:
        print_json(asdict(found))
    else:
        _print_explanation(found)
    if output or show:
        folder = expanded(output or home.root / "reports" / report_name(f"explain {dataset} {backbone} {sample}"))
        page = _write_explanation(home, found, folder)
        note(str(page))
        if show:
            _open(page.as_uri())


def _print_explanation(found: "Explanation") -> None:
    console.print(f"[bold]{escape(found.sample_id)}[/] of {escape(found.dataset)} × {escape(found.backbone)}")
    verdict = "right" if found.right else "wrong"
    console.print(
        f"it is {escape(found.truth)}; zero-shot says {escape(found.zero_shot)}, "
        f"{escape(found.method)} says {escape(found.prediction)}: {verdict}"
    )
    rows = [
        (
            group.name,
            f"{group.similarity:.4f}",
            "" if group.density is None else f"{group.density:.4f}",
            "" if group.score is None else f"{group.score:.4g}",
        )
        for group in found.groups
    ]
    print_table(("group", "similarity", "density", "translated"), rows)
    print_table(
        ("class", "similarity", "score"), [(c.name, f"{c.similarity:.4f}", f"{c.score:.4g}") for c in found.classes]
    )
    for group in found.groups:
        near = ", ".join(f"{n.sample_id} ({n.distance:.3f})" for n in group.neighbours)
        console.print(f"nearest of {escape(group.name)}: {escape(near or 'it has no references')}")


def _write_explanation(home: Home, found: "Explanation", folder: Path) -> Path:
    from datetime import UTC, datetime

    from tasks.reporting.document import Report, Section
    from tasks.reporting.examples import illustrated
    from tasks.reporting.publication import publish

    examples = list(illustrated(home, [found]))
    section = Section("examples", "The prediction", examples=examples)
    title = f"{found.sample_id} of {found.dataset} × {found.backbone}"
    return publish(Report(title, datetime.now(UTC), [examples[0].text], [], [section]), folder)


def report_name(words: str) -> str:
    """Return a folder's name for a request in words."""
    from tasks.reporting.scope import slugged

    return slugged(*words.split()) or "report"


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        note("no browser could be started; open the page by hand")


def _serve(folder: Path, port: int, *, show: bool) -> None:
    """Serve the report to this machine until Ctrl-C."""
    from data_catalog.errors import FailureError
    from flows.report_server import ReportServer

    try:
        server = ReportServer(folder, port)
    except OSError as error:
        raise FailureError(
            f"cannot listen on port {port}: {error.strerror or error}",
            remedy="choose another: --port 0 takes a free one",
        ) from error
    with server:
        console.print(f"{server.address} (Ctrl-C ends it)")
        if show:
            _open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            note("served no more")
