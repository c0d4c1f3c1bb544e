"""The benchmark as Prefect flows, read from top to bottom as the pipeline.

A flow plans by itself, from the catalog, and records what it does, whoever started it: `dat run`, a deployment or
Python. Only what is stale becomes task runs, one per step and (dataset, backbone), each begun when what it depends on
is there. To import this module is to import Prefect, which reads its settings then.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from prefect import flow, runtime
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from prefect.states import Failed
from pydantic import Field

from data_catalog.home import Home
from data_catalog.store.artifacts import Store
from flows.artifacts import publish_drift, publish_leaderboard, publish_plan
from flows.request import Request, resolve, write_report_on
from flows.submission import Placement, Stage, carry_out, check_stages
from tasks.engine.run import BenchmarkResult, Summary, open_run
from tasks.pipeline import (
    ablate,
    check_theory,
    compare,
    diagnose,
    digest_images,
    embed_images,
    embed_prompts,
    failure_message,
    herd_references,
    infer_attributes,
    list_samples,
    measure_densities,
    measure_groups,
    open_weights,
    predict,
)

EMBEDDING = (
    Stage(list_samples, "samples"),  # downloads the dataset where it is not there
    Stage(digest_images, "files"),
    Stage(open_weights, "weights"),
    Stage(embed_images, "image_embeddings"),
    Stage(embed_prompts, "text_embeddings"),
)
SCORING = (
    *EMBEDDING,
    Stage(infer_attributes, "attributes"),
    Stage(herd_references, "references"),
    Stage(measure_densities, "densities"),
    Stage(predict, "predictions", variants=False, counted="methods"),
    Stage(ablate, "predictions", variants=True, counted="settings"),
)
BENCHMARK = (
    *SCORING,
    Stage(measure_groups, "metrics"),
    Stage(compare, "over_*"),
    Stage(diagnose, "diagnostic_*"),
    Stage(check_theory, "theory_*"),
)
"""The pipeline. A new step is one module in `tasks/steps`, one task in `tasks/pipeline.py` and one line here."""

Names = list[str] | None
Positive = Annotated[int, Field(ge=1)]


def _run_name() -> str:
    """Return what a person calls a run: the flow and what it was asked for."""
    asked = runtime.flow_run.parameters
    words = [asked["suite"], *(asked["datasets"] or ()), *(asked["backbones"] or ()), *(asked["methods"] or ())]
    return " ".join([runtime.flow_run.flow_name, *filter(None, words)])


@flow(name="benchmark", flow_run_name=_run_name)
def benchmark(
    suite: str | None = None,
    datasets: Names = None,
    backbones: Names = None,
    methods: Names = None,
    settings: Names = None,
    force: bool = False,
    runner: Literal["threads", "dask"] = "threads",
    workers: Positive = 1,
    dask_address: str | None = None,
    gpu_slots: Positive = 1,
    embed_with: str | None = None,
    write_report: bool = True,
) -> Any:
    """Bring a suite, or the cells of some datasets, backbones and methods, up to date in `DAT_HOME`.

    Returns a `Summary`; the flow run is failed where cells failed.

    Args:
        suite: Name of a suite; the lists narrow it, or take its place.
        datasets: Names of datasets.
        backbones: Names of backbones.
        methods: Names of methods.
        settings: Settings of methods, as `name=value`.
        force: Compute everything again and compare with what is stored.
        runner: Where tasks run: in threads of this process, or on a Dask cluster.
        workers: How many tasks run at the same time.
        dask_address: A Dask scheduler; without one a cluster of `workers` processes is started for the run.
        gpu_slots: How many cells may use one GPU at the same time.
        embed_with: A deployment of the flow `embed-only`, such as `embed-only/gpu`, that embeds first, on workers
            that have GPUs. All share `DAT_HOME`.
        write_report: Write the report on what was asked for, where something was made.
    """
    request = _request(suite, datasets, backbones, methods, settings)
    if embed_with is not None:
        _embed_elsewhere(embed_with, request)
    result = _run(request, BENCHMARK, Placement(runner, workers, dask_address), force=force, gpu_slots=gpu_slots)
    summary = result.summary()
    # The benchmark's own heartbeat says that both are alive, and every flow waits a second for its last one.
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        page = report(**request.parameters(), write_files=write_report and summary.has_made_something)
    publish_drift(result)
    return _ended(result, replace(summary, report=page))


@flow(name="embed-only", flow_run_name=_run_name)
def embed_only(
    suite: str | None = None,
    datasets: Names = None,
    backbones: Names = None,
    methods: Names = None,
    settings: Names = None,
    gpu_slots: Positive = 1,
) -> Any:
    """Embed what a suite, or some datasets and backbones, need, and score nothing. Parameters as for `benchmark`."""
    request = _request(suite, datasets, backbones, methods, settings)
    result = _run(request, EMBEDDING, Placement(), gpu_slots=gpu_slots)
    return _ended(result, result.summary())


@flow(name="scoring", flow_run_name=_run_name)
def scoring(
    suite: str | None = None,
    datasets: Names = None,
    backbones: Names = None,
    methods: Names = None,
    settings: Names = None,
    workers: Positive = 1,
    gpu_slots: Positive = 1,
) -> Any:
    """Embed and predict what a suite asks for, and measure nothing yet. Parameters as for `benchmark`."""
    request = _request(suite, datasets, backbones, methods, settings)
    result = _run(request, SCORING, Placement(workers=workers), gpu_slots=gpu_slots)
    return _ended(result, result.summary())


@flow(name="report", flow_run_name=_run_name)
def report(
    suite: str | None = None,
    datasets: Names = None,
    backbones: Names = None,
    methods: Names = None,
    settings: Names = None,
    write_files: bool = True,
) -> str | None:
    """Publish the leaderboard of a suite, or of some datasets and backbones; return the page of the report it writes.

    The report is written into `DAT_HOME/reports`.
    """
    home = Home.from_environment()
    requested = resolve(_request(suite, datasets, backbones, methods, settings), home)
    publish_leaderboard(home, requested.cells)
    return str(write_report_on(requested, home)) if write_files else None


def _run(
    request: Request, stages: Sequence[Stage], placement: Placement, *, force: bool = False, gpu_slots: int = 1
) -> BenchmarkResult:
    """Plan what a request needs of some stages, carry out what is stale, and keep the record."""
    home = Home.from_environment()
    requested = resolve(request, home)
    cells = [cell for cell in requested.cells if any(stage.takes(cell) for stage in stages)]
    check_stages(requested.cells, BENCHMARK)
    with open_run(cells, Store(home), request=requested.words, force=force, gpu_slots=gpu_slots) as run:
        if run.stale:
            publish_plan(run)
            carry_out(run, stages, placement)
    return run.result()


def _ended(result: BenchmarkResult, summary: Summary) -> Any:
    """Return the summary, in a failed state where cells failed."""
    if not result.failed:
        return summary
    return Failed(message=failure_message(result.failed, len(result.outcomes)), data=summary)


def _embed_elsewhere(deployment: str, request: Request) -> None:
    """Have a deployment embed, and wait for it. What it could not embed, this run tries itself and reports."""
    from prefect.deployments import run_deployment

    run_deployment(deployment, parameters=request.parameters())


def _request(suite: str | None, datasets: Names, backbones: Names, methods: Names, settings: Names) -> Request:
    return Request(suite, datasets or (), backbones or (), methods or (), settings or ())
