"""From the command line to the flow: Prefect is prepared, imported and run, and its troubles are explained."""

from data_catalog.errors import UserError
from data_catalog.home import Home
from flows.prefect_settings import prepare_prefect, server_address
from flows.request import Request
from flows.running import BenchmarkResult
from tasks.watching import Watcher

_ANSWER_SECONDS = 10


def conduct(
    request: Request,
    home: Home,
    watcher: Watcher,
    *,
    force: bool = False,
    runner: str = "threads",
    workers: int = 1,
    dask_address: str | None = None,
    gpu_slots: int = 1,
) -> BenchmarkResult:
    """Run the benchmark flow in this process, on the server that is named or on a temporary one."""
    home.prepare()
    _reach_server()
    prepare_prefect(home)
    from prefect import State

    from flows.benchmark import benchmark, watched_by

    with watched_by(watcher) as session:
        state = benchmark(
            suite=request.suite,
            datasets=list(request.datasets),
            backbones=list(request.backbones),
            methods=list(request.methods),
            settings=list(request.settings),
            force=force,
            runner=runner,
            workers=workers,
            dask_address=dask_address,
            gpu_slots=gpu_slots,
            return_state=True,
        )
    if session.result is None:
        assert isinstance(state, State)
        state.result()
        raise AssertionError("the flow ended without a result")
    return session.result


def _reach_server() -> None:
    """Raise a `UserError` when a server is named and does not answer, before anything heavy is begun."""
    import requests

    address = server_address()
    if address is None:
        return
    try:
        requests.get(f"{address}/health", timeout=_ANSWER_SECONDS)
    except requests.RequestException as error:
        raise UserError(
            f"Prefect's server does not answer: {type(error).__name__}",
            where=address,
            remedy="start it (`prefect server start`), or unset PREFECT_API_URL to use a temporary one",
        ) from error
