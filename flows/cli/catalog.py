"""`dat catalog rebuild`."""

import time

from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.store.artifacts import Store
from flows.cli.terminal.escaping import escape
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, print_json


def rebuild(as_json: AsJson = False) -> None:
    """Make the index anew from the manifests and run records."""
    home = Home.from_environment()
    started = time.perf_counter()
    home.prepare()
    update_index(home, anew=True)
    count = sum(1 for _ in Store(home).listing())
    seconds = time.perf_counter() - started
    if as_json:
        print_json({"artifacts": count, "seconds": seconds, "index": str(home.index)})
    else:
        console.print(f"{escape(str(home.index))}: {count} artifacts indexed in {seconds:.1f} s")
