"""`dat report`."""

from pathlib import Path
from typing import Annotated

import typer

from data_catalog.errors import FailureError
from data_catalog.home import Home
from data_catalog.specs.paths import expanded
from flows.cli.terminal.browser import open_page
from flows.cli.terminal.escaping import escape
from flows.cli.terminal.options import Backbones, Datasets, Methods, Overrides, Suite
from flows.cli.terminal.output import console, note
from flows.request import Request, resolve, write_report_on


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
        open_page(page.as_uri())
    if serve:
        _serve(page.parent, port, show=show)


def _serve(folder: Path, port: int, *, show: bool) -> None:
    """Serve the report to this machine until Ctrl-C."""
    from flows.cli.report_server import ReportServer

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
            open_page(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            note("served no more")
