"""From the command line to the flow: Prefect is prepared, imported and run, and troubles with it are explained."""

import importlib
import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dat_lib.backbones.torchvision_import import import_torchvision
from data_catalog.errors import FailureError
from flows.request import Request
from flows.temporary_server import temporary_server
from tasks.engine.run import Run

_ANSWER_SECONDS = 10


def conduct(
    run: Run,
    request: Request,
    *,
    runner: str = "threads",
    workers: int = 1,
    dask_address: str | None = None,
) -> None:
    """Have the benchmark flow carry out a run in this process, on the server that is named or on a temporary one."""
    with _server(run) as wait_for_server:
        from prefect import State
        from prefect.settings import PREFECT_API_URL, temporary_settings

        from flows.benchmark import benchmark, session_for

        wait_for_server()
        # Prefect reads its settings once a process, but each run may have a server of its own.
        with temporary_settings({PREFECT_API_URL: server_address()}), session_for(run) as session:
            state = benchmark(
                suite=request.suite,
                datasets=list(request.datasets),
                backbones=list(request.backbones),
                methods=list(request.methods),
                settings=list(request.settings),
                force=run.order.force,
                runner=runner,
                workers=workers,
                dask_address=dask_address,
                gpu_slots=run.order.gpu_slots,
                return_state=True,
            )
    if not session.carried_out:
        assert isinstance(state, State)
        state.result()


@contextmanager
def _server(run: Run) -> Iterator[Callable[[], None]]:
    """Settle which server is reported to, before Prefect is imported; give what waits for it."""
    # Our own progress is on the terminal; Prefect's log goes to its server.
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    address = server_address()
    if address is not None:
        _reach(address)
        yield lambda: None
        return
    os.environ.setdefault("PREFECT_LOGGING_TO_API_ENABLED", "false")
    with temporary_server(run.order.home) as wait_until_up:

        def wait() -> None:
            _load_ahead(run)
            wait_until_up()

        yield wait


def _load_ahead(run: Run) -> None:
    """Import what embedding needs in any case while a temporary server starts, which takes about as long."""
    if any(decision.cell.step == "weights" for decision in run.stale):
        import_torchvision()
        importlib.import_module("transformers.modeling_utils")


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
