"""The steps of the pipeline as Prefect tasks, in the order in which they follow each other.

A task brings the stale cells of one step, and one dataset and backbone, up to date. What passes between tasks are keys
of artifacts, never arrays. The catalog decides what is up to date, so Prefect caches and persists nothing. To import
this module is to import Prefect.
"""

import time
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from prefect import State, Task, get_run_logger, runtime, task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import TaskRun
from prefect.states import Failed

from data_catalog.planning.cell import Cell
from tasks.engine.events import CellOutcome
from tasks.engine.execution import Assignment, TransientFaultError, settle_batch

_RETRIES = 2
_PROGRESS_SECONDS = 5.0


def _is_worth_retrying(task: Task[..., Any], task_run: TaskRun, state: State[Any]) -> bool:
    return isinstance(state.result(raise_on_failure=False), TransientFaultError)


ROUTINE: dict[str, Any] = {
    "cache_policy": NO_CACHE,
    "persist_result": False,
    "retries": _RETRIES,
    "retry_delay_seconds": [5.0, 30.0],
    "retry_condition_fn": _is_worth_retrying,
}
"""What all of these tasks have in common: the network and a GPU's memory may be better a little later."""


@task(name="list samples", **ROUTINE)
def list_samples(assignment: Assignment) -> Any:
    """List the samples of a dataset with split, class and attribute; download it where it is not there."""
    return _bring_up_to_date(assignment)


@task(name="digest images", **ROUTINE)
def digest_images(assignment: Assignment) -> Any:
    """List the image files of a dataset with their digests."""
    return _bring_up_to_date(assignment)


@task(name="open weights", **ROUTINE)
def open_weights(assignment: Assignment) -> Any:
    """Open a model, downloaded where it is not there, and note what its weights and preprocessing are."""
    return _bring_up_to_date(assignment)


@task(name="embed images", **ROUTINE)
def embed_images(assignment: Assignment) -> Any:
    """Embed the images of a dataset, shard by shard."""
    return _bring_up_to_date(assignment)


@task(name="embed prompts", **ROUTINE)
def embed_prompts(assignment: Assignment) -> Any:
    """Embed the prompts of a dataset."""
    return _bring_up_to_date(assignment)


@task(name="infer attributes", **ROUTINE)
def infer_attributes(assignment: Assignment) -> Any:
    """Infer the attribute of each sample from attribute prompts, for DAT*."""
    return _bring_up_to_date(assignment)


@task(name="herd references", **ROUTINE)
def herd_references(assignment: Assignment) -> Any:
    """Herd the reference images of each group, and make corrupted copies where these are asked for."""
    return _bring_up_to_date(assignment)


@task(name="measure densities", **ROUTINE)
def measure_densities(assignment: Assignment) -> Any:
    """Measure how densely each test image sits among the references of each group."""
    return _bring_up_to_date(assignment)


@task(name="predict", **ROUTINE)
def predict(assignment: Assignment) -> Any:
    """Predict with every method, as its settings for the dataset say."""
    return _bring_up_to_date(assignment)


@task(name="ablate", **ROUTINE)
def ablate(assignment: Assignment) -> Any:
    """Predict with other settings, prompts and seeds."""
    return _bring_up_to_date(assignment)


@task(name="measure groups", **ROUTINE)
def measure_groups(assignment: Assignment) -> Any:
    """Measure accuracy per group, the worst group, the average and their intervals."""
    return _bring_up_to_date(assignment)


@task(name="compare", **ROUTINE)
def compare(assignment: Assignment) -> Any:
    """Compare each method with the baselines on the same test samples."""
    return _bring_up_to_date(assignment)


@task(name="diagnose", **ROUTINE)
def diagnose(assignment: Assignment) -> Any:
    """Make the paper's diagnostics of embeddings, densities and references."""
    return _bring_up_to_date(assignment)


@task(name="check theory", **ROUTINE)
def check_theory(assignment: Assignment) -> Any:
    """Check the paper's theory on groups drawn from known distributions."""
    return _bring_up_to_date(assignment)


def _bring_up_to_date(assignment: Assignment) -> Any:
    """Settle a batch. Where cells failed the task shows it with the cause, and still returns what came of all."""
    attempt: int = runtime.task_run.run_count
    shown = _Shown(len(assignment.batch.decisions))
    settled = settle_batch(assignment, retry=attempt <= _RETRIES, listener=shown)
    shown.finish()
    if not settled.failed:
        return settled
    return Failed(message=failure_message(settled.failed, len(settled.outcomes)), data=settled)


def failure_message(failed: Sequence[CellOutcome], total: int) -> str:
    """Return how many cells failed and why the first did: rather one that failed itself than one that was blocked."""
    first = next((outcome for outcome in failed if outcome.outcome == "failed"), failed[0])
    lines = first.error.strip().splitlines() or [""]
    cause = lines[-1] if lines[0].startswith("Traceback") else lines[0]
    return f"{len(failed)} of {total} cells failed: {first.cell.name}: {cause}"


class _Shown:
    """Shows in Prefect what happens to the cells of a task: a line per cell, and how far the task is."""

    def __init__(self, cells: int) -> None:
        self._cells, self._done = cells, 0
        self._artifact: UUID | None = None
        self._shown = time.monotonic()
        self._logger = get_run_logger()

    def started(self, cell: Cell) -> None:
        """Say nothing yet."""

    def progressed(self, cell: Cell, done: int, total: int, failed: int) -> None:
        """Show how far a cell of many parts is, at most every few seconds."""
        now = time.monotonic()
        if total and now - self._shown >= _PROGRESS_SECONDS:
            self._shown = now
            share = (self._done + done / total) / self._cells
            self._show(share, f"{cell.name}: {done:,} of {total:,}, {failed:,} failed")

    def settled(self, outcome: CellOutcome) -> None:
        """Log it."""
        self._done += 1
        name = outcome.cell.name
        if outcome.failed:
            self._logger.error("%s %s: %s", outcome.outcome, name, outcome.error)
        else:
            self._logger.info("%s %s (%s) %.2f s", outcome.outcome, name, outcome.reason, outcome.seconds)

    def finish(self) -> None:
        """Have a progress that was shown end at 100 %."""
        if self._artifact is not None:
            self._show(1.0, f"{self._cells:,} cells done")

    def _show(self, share: float, description: str) -> None:
        percent = min(100.0, 100 * share)
        if self._artifact is None:
            self._artifact = cast(UUID, create_progress_artifact(percent, key="progress", description=description))
        else:
            update_progress_artifact(self._artifact, percent, description)
