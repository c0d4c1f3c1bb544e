"""`dat report` and `dat explain`: results to look at."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from data_catalog.home import Home
from flows.cli.computing import Backbones, Datasets, Methods, Overrides, Suite
from flows.cli.output import console, note
from flows.request import Request, resolve


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
    from tasks.reporting import write_report

    home = Home.from_environment()
    requested = resolve(Request(suite, dataset or (), backbone or (), method or (), overrides or ()), home)
    folder = (output or home.root / "reports" / report_name(requested.words)).absolute()
    page = write_report(home, requested.cells, folder, title=requested.words, remarks=requested.left_out)
    console.print(escape(str(page)))
    if show:
        _open(page.as_uri())
    if serve:
        _serve(folder, port, show=show)


def report_name(words: str) -> str:
    """Return a folder's name for a request in words."""
    from tasks.reporting.scope import slugged

    return slugged(*words.split()) or "report"


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        note("no browser could be started; open the page by hand")


def _serve(folder: Path, port: int, *, show: bool) -> None:
    """Offer the folder on the loopback interface, and on no other."""
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    from data_catalog.errors import UserError

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing of each file."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Quiet, directory=str(folder)))
    except OSError as error:
        raise UserError(
            f"cannot listen on port {port}: {error.strerror or error}",
            remedy="choose another: --port 0 takes a free one",
        ) from error
    with server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        console.print(f"{address} (Ctrl-C ends it)")
        if show:
            _open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            note("served no more")
