"""From the command line to the flow: Prefect is prepared, imported and run, and troubles with it are explained."""

from data_catalog.errors import UserError
from flows.prefect_settings import prepare_prefect, server_address
from flows.request import Request
from flows.running import Run

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
    _reach_server()
    prepare_prefect(run.order.home)
    from prefect import State

    from flows.benchmark import benchmark, session_for

    with session_for(run) as session:
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
