"""A page in the person's browser."""

from flows.cli.terminal.output import note


def open_page(address: str) -> None:
    """Open a page in the browser; say so where there is none."""
    import webbrowser

    if not webbrowser.open(address):
        note("no browser could be started; open the page by hand")
