"""Launching the benchmark flow from a command: Prefect is prepared and imported, and its troubles are explained."""

import importlib
import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from dat_lib.backbones.torchvision_import import import_torchvision
from data_catalog.errors import FailureError, begun
from data_catalog.home import Home
from flows.request import Request
from flows.temporary_server import temporary_server
from tasks.engine.run import Summary

_ANSWER_SECONDS = 10


def launch(
    request: Request,
    home: Home,
    *,
    force: bool = False,
    runner: Literal["threads", "dask"] = "threads",
    workers: int = 1,
    dask_address: str | None = None,
    gpu_slots: int = 1,
    write_report: bool = True,
    embeds: bool = True,
) -> Summary:
    """Call the benchmark flow in this process, on the server that is named or on a temporary one.

    `embeds` says that the run will open models, so that what these need is imported while a server starts.
    """
    with _server(home, embeds=embeds) as wait_for_server:
        from prefect.settings import PREFECT_API_URL, temporary_settings

        from flows.benchmark import benchmark

        wait_for_server()
        # Prefect reads its settings once per process, but each run may have a server of its own.
        with temporary_settings({PREFECT_API_URL: server_address()}):
            state: Any = benchmark(
                **request.parameters(),
                force=force,
                runner=runner,
                workers=workers,
                dask_address=dask_address,
                gpu_slots=gpu_slots,
                write_report=write_report,
                return_state=True,
            )
    ended = state.result(raise_on_failure=False)
    if not isinstance(ended, Summary):
        with begun():
            raise ended
    return ended


@contextmanager
def _server(home: Home, *, embeds: bool) -> Iterator[Callable[[], None]]:
    """Settle which server is reported to, before Prefect is imported; give what waits for it."""
    # Our own progress is on the terminal; Prefect's log goes to its server.
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    address = server_address()
    if address is not None:
        _reach(address)
        yield lambda: None
        return
    os.environ.setdefault("PREFECT_LOGGING_TO_API_ENABLED", "false")
    with temporary_server(home) as wait_until_up:

        def wait() -> None:
            if embeds:  # importing takes about as long as the server's start
                import_torchvision()
                importlib.import_module("transformers.modeling_utils")
            wait_until_up()

        yield wait


def _reach(address: str) -> None:
    """Raise a `FailureError` when a server is named and does not answer, before anything heavy is begun."""
    import requests

    try:
        requests.get(f"{address}/health", timeout=_ANSWER_SECONDS)
    except requests.RequestException as error:
        raise FailureError(
            f"Prefect's server does not answer: {type(error).__name__}",
            where=address,
            remedy="start it (`prefect server start`), or unset PREFECT_API_URL to use a temporary one",
        ) from error


def server_address() -> str | None:
    """Return the address of the server that a person has named, without importing Prefect; None when there is none."""
    address = os.environ.get("PREFECT_API_URL")
    if address:
        return address
    folder = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    try:
        profiles = tomllib.loads((folder / "profiles.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    name = os.environ.get("PREFECT_PROFILE") or profiles.get("active")
    found = profiles.get("profiles", {}).get(name, {}).get("PREFECT_API_URL")
    return found if isinstance(found, str) else None
