"""The steps of the pipeline as Prefect tasks. Each settles one batch; what passes between them are keys.

Prefect never decides what is up to date, so nothing is cached or persisted by it. To import this is to import Prefect.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, cast
from uuid import UUID

from prefect import State, Task, get_run_logger, runtime
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import TaskRun
from prefect.states import Failed

from data_catalog.planning.cell import Cell
from data_catalog.store.manifest import Manifest
from tasks.engine.batches import Batch
from tasks.engine.execution import Order, TransientFaultError, settle_batch

RETRIES = 2
_RETRY_DELAYS = [5.0, 30.0]
_PROGRESS_SECONDS = 5.0

Arguments = ParamSpec("Arguments")


def _is_worth_retrying(task: Task[..., Any], task_run: TaskRun, state: State[Any]) -> bool:
    return isinstance(state.result(raise_on_failure=False), TransientFaultError)


def _as_task(function: Callable[Arguments, Any]) -> Task[Arguments, Any]:
    return Task(
        function,
        name=function.__name__.replace("_", " "),
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=RETRIES,
        retry_delay_seconds=_RETRY_DELAYS,
        retry_condition_fn=_is_worth_retrying,
    )


@_as_task
def embed(order: Order, batch: Batch, keys: Mapping[str, str], drafts: Mapping[str, Manifest]) -> Any:
    """List samples, read weights, embed images and prompts."""
    return _settle(order, batch, keys, drafts)


@_as_task
def choose_references(order: Order, batch: Batch, keys: Mapping[str, str], drafts: Mapping[str, Manifest]) -> Any:
    """Infer attributes and herd references."""
    return _settle(order, batch, keys, drafts)


@_as_task
def score(order: Order, batch: Batch, keys: Mapping[str, str], drafts: Mapping[str, Manifest]) -> Any:
    """Measure densities and predict with every method, as its settings for the dataset say."""
    return _settle(order, batch, keys, drafts)


@_as_task
def ablate(order: Order, batch: Batch, keys: Mapping[str, str], drafts: Mapping[str, Manifest]) -> Any:
    """Measure densities and predict with other settings."""
    return _settle(order, batch, keys, drafts)


@_as_task
def measure(order: Order, batch: Batch, keys: Mapping[str, str], drafts: Mapping[str, Manifest]) -> Any:
    """Measure accuracy a group, the worst group and intervals."""
    return _settle(order, batch, keys, drafts)


TASK_OF_STAGE = {
    "embedding": embed,
    "references": choose_references,
    "scoring": score,
    "ablations": ablate,
    "aggregation": measure,
}


def _settle(order: Order, batch: Batch, keys: Mapping[str, str], drafts: Mapping[str, Manifest]) -> Any:
    """Settle a batch. Where cells failed the task shows it, and still returns what came of all."""
    attempt: int = runtime.task_run.run_count
    settled = settle_batch(order, batch, keys, drafts, retry=attempt <= RETRIES, on_progress=_ProgressArtifact())
    logger = get_run_logger()
    for outcome in settled.outcomes:
        logger.info("%s %s (%s) %.2f s", outcome.outcome, outcome.cell.name, outcome.reason, outcome.seconds)
    failed = [outcome for outcome in settled.outcomes if outcome.failed]
    if not failed:
        return settled
    for outcome in failed:
        logger.error("%s: %s", outcome.cell.name, outcome.error)
    return Failed(message=f"{len(failed)} of {len(settled.outcomes)} cells failed", data=settled)


class _ProgressArtifact:
    """Shows how far a cell of many parts is, in Prefect; at most every few seconds."""

    def __init__(self) -> None:
        self._cell, self._artifact, self._shown = "", UUID(int=0), time.monotonic()

    def __call__(self, cell: Cell, done: int, total: int, failed: int) -> None:
        now = time.monotonic()
        if now - self._shown < _PROGRESS_SECONDS or not total:
            return
        self._shown = now
        share, described = 100 * done / total, f"{cell.name}: {done:,} of {total:,}, {failed:,} failed"
        if cell.name == self._cell:
            update_progress_artifact(self._artifact, share, described)
        else:
            self._cell = cell.name
            self._artifact = cast(UUID, create_progress_artifact(share, key="progress", description=described))
