"""Processes that start warm: each is forked from one that has imported everything and run nothing."""

import multiprocessing
import os
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PRELOADED = ("tests.data_catalog.worlds", "tests.faults.preloaded")


@cache
def warm_processes() -> ForkServerContext:
    """Return where processes are started: `warm_processes().Process(target=..., args=...)`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    former = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(_ROOT)  # without it the server cannot import what it is to preload
    try:
        forkserver.ensure_running()
    finally:
        if former is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = former
    return context
