"""The benchmark as Prefect flows: plan, run what is stale, aggregate, report.

The plan is made first, in this process, from the catalog; only what is stale becomes task runs, one for each stage and
(dataset, backbone). To import this is to import Prefect, which reads its settings then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from prefect import Flow, flow, runtime
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from prefect.states import Failed

from data_catalog.home import Home
from data_catalog.store.artifacts import Store
from flows.artifacts import publish_drift, publish_leaderboard, publish_plan
from flows.request import Request, resolve, write_report_on
from flows.stages import Placement, settle_stage
from tasks.engine.batches import stage_of
from tasks.engine.run import Run, counts, run_benchmark

_NAMED = 10


class Session:
    """What flows of this process share beside their parameters, which must be plain and small."""

    def __init__(self, run: Run | None = None) -> None:
        self.run = run
        self.placement = Placement()
        self.carried_out = False


_session = Session()


def _run_name() -> str:
    """Return what a person calls a run: the flow and what it was asked for."""
    asked = runtime.flow_run.parameters
    words = [asked["suite"], *(asked["datasets"] or ()), *(asked["backbones"] or ()), *(asked["methods"] or ())]
    return " ".join([runtime.flow_run.flow_name, *filter(None, words)])


@contextmanager
def session_for(run: Run) -> Iterator[Session]:
    """Have the next flow of this process carry out a run that is planned and on record already."""
    global _session
    _session = Session(run)
    try:
        yield _session
    finally:
        _session = Session()


@flow(name="embedding")
def embedding(run_id: str, batches: list[str]) -> None:
    """List samples, read weights, embed images and prompts."""
    _settle_stage("embedding")


@flow(name="references and attributes")
def references(run_id: str, batches: list[str]) -> None:
    """Infer attributes and herd references."""
    _settle_stage("references")


@flow(name="scoring")
def scoring(run_id: str, batches: list[str]) -> None:
    """Predict with every method, as its settings for the dataset say."""
    _settle_stage("scoring")


@flow(name="ablations")
def ablations(run_id: str, batches: list[str]) -> None:
    """Predict with other settings."""
    _settle_stage("ablations")


@flow(name="aggregation")
def aggregation(run_id: str, batches: list[str]) -> None:
    """Measure accuracy a group, the worst group and intervals."""
    _settle_stage("aggregation")


@flow(name="report")
def report(
    suite: str | None = None,
    datasets: list[str] | None = None,
    backbones: list[str] | None = None,
    methods: list[str] | None = None,
    settings: list[str] | None = None,
    write_files: bool = True,
) -> str | None:
    """Publish the leaderboard of a suite, or of some datasets and backbones, and write the report into `DAT_HOME`."""
    home = Home.from_environment()
    requested = resolve(_request(suite, datasets, backbones, methods, settings), home)
    publish_leaderboard(home, requested.cells)
    return str(write_report_on(requested, home)) if write_files else None


FLOW_OF_STAGE: dict[str, Flow[..., None]] = {
    "embedding": embedding,
    "references": references,
    "scoring": scoring,
    "ablations": ablations,
    "aggregation": aggregation,
}


@flow(name="benchmark", flow_run_name=_run_name)
def benchmark(
    suite: str | None = None,
    datasets: list[str] | None = None,
    backbones: list[str] | None = None,
    methods: list[str] | None = None,
    settings: list[str] | None = None,
    force: bool = False,
    runner: Literal["threads", "dask"] = "threads",
    workers: int = 1,
    dask_address: str | None = None,
    gpu_slots: int = 1,
    embed_with: str | None = None,
) -> Any:
    """Bring a suite, or the cells of some datasets, backbones and methods, up to date in `DAT_HOME`.

    Args:
        suite: Name of a suite; the lists narrow it, or take its place.
        datasets: Names of datasets.
        backbones: Names of backbones.
        methods: Names of methods.
        settings: Settings of methods, as `name=value`.
        force: Compute everything again and compare with what is stored.
        runner: Where batches run: in threads of this process, or on a Dask cluster.
        workers: How many batches run at the same time.
        dask_address: A Dask scheduler; without one a cluster of `workers` processes is started for the run.
        gpu_slots: How many cells may use one GPU at the same time.
        embed_with: A deployment of the flow `embed-only`, such as `embed-only/gpu`, that embeds first, on workers
            that have GPUs. All share `DAT_HOME`.
    """
    request = _request(suite, datasets, backbones, methods, settings)
    if embed_with is not None:
        _embed_elsewhere(embed_with, request)
    return _run(request, Placement(runner, workers, dask_address), force=force, gpu_slots=gpu_slots)


@flow(name="embed-only", flow_run_name=_run_name)
def embed_only(
    suite: str | None = None,
    datasets: list[str] | None = None,
    backbones: list[str] | None = None,
    methods: list[str] | None = None,
    settings: list[str] | None = None,
    gpu_slots: int = 1,
) -> Any:
    """Embed what a suite, or some datasets and backbones, need, and score nothing. Parameters as for `benchmark`."""
    request = _request(suite, datasets, backbones, methods, settings)
    return _run(request, Placement(), gpu_slots=gpu_slots, only="embedding")


def _run(
    request: Request, placement: Placement, *, force: bool = False, gpu_slots: int = 1, only: str | None = None
) -> Any:
    """Plan and run. What is returned says how many cells came out how, or is the state of a flow that failed."""
    _session.placement = placement
    conducted = _session.run is not None
    if _session.run is not None:
        _in_stages(_session.run)
        result = _session.run.result()
    else:
        home = Home.from_environment()
        requested = resolve(request, home)
        result = run_benchmark(
            [cell for cell in requested.cells if only in (None, stage_of(cell))],
            Store(home),
            request=requested.words,
            force=force,
            gpu_slots=gpu_slots,
            execute=_in_stages,
        )
        _session.run = None
    if only is None:
        report(**_parameters(request), write_files=not conducted)
    publish_drift(result)
    if result.failed:
        names = ", ".join(outcome.cell.name for outcome in result.failed[:_NAMED])
        return Failed(message=f"{len(result.failed)} cells failed: {names}")
    return {"run_id": result.run_id, **counts(result.outcomes)}


def _in_stages(run: Run) -> None:
    """Carry a run out, a flow for each stage that has stale cells."""
    _session.run = run
    publish_plan(run)
    # The benchmark's own heartbeat says that all are alive, and every flow waits a second for its last one.
    with _session.placement.task_runner() as task_runner, temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        for stage, waves in run.stages().items():
            titles = [batch.title for wave in waves for batch in wave]
            FLOW_OF_STAGE[stage].with_options(task_runner=task_runner)(run.order.run_id, titles)
    _session.carried_out = True


def _settle_stage(stage: str) -> None:
    run = _session.run
    assert run is not None
    settle_stage(run, stage, _session.placement)


def _embed_elsewhere(deployment: str, request: Request) -> None:
    """Have a deployment embed, and wait for it. What it could not embed, this run tries itself and reports."""
    from prefect.deployments import run_deployment

    run_deployment(deployment, parameters=_parameters(request))


def _request(
    suite: str | None,
    datasets: list[str] | None,
    backbones: list[str] | None,
    methods: list[str] | None,
    settings: list[str] | None,
) -> Request:
    return Request(suite, datasets or (), backbones or (), methods or (), settings or ())


def _parameters(request: Request) -> dict[str, Any]:
    """Return a request as the parameters of a flow."""
    return {
        "suite": request.suite,
        "datasets": list(request.datasets),
        "backbones": list(request.backbones),
        "methods": list(request.methods),
        "settings": list(request.settings),
    }
