"""The batches of a stage as task runs: one after the other, in threads, or on a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from prefect import State
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from data_catalog.errors import UserError
from tasks.engine.batches import Batch
from tasks.engine.events import CellOutcome
from tasks.engine.execution import Settled
from tasks.engine.orchestrated import TASK_OF_STAGE
from tasks.engine.run import Run


@dataclass(frozen=True)
class Placement:
    """Where batches run, and how many at the same time."""

    runner: Literal["threads", "dask"] = "threads"
    workers: int = 1
    dask_address: str | None = None

    @property
    def in_this_thread(self) -> bool:
        """Whether batches run one after the other in the flow's own thread, where Ctrl-C stops them at once."""
        return self.runner == "threads" and self.workers == 1

    @contextmanager
    def task_runner(self) -> Iterator[TaskRunner[Any]]:
        """Give what Prefect submits tasks to; a Dask cluster of our own lives as long as this."""
        if self.runner == "threads":
            yield ThreadPoolTaskRunner(max_workers=self.workers)
            return
        try:
            from distributed import LocalCluster
            from prefect_dask.task_runners import DaskTaskRunner
        except ImportError as error:
            raise UserError(
                "the runner dask needs prefect-dask", remedy="install it: pip install -c constraints.txt '.[dask]'"
            ) from error
        if self.dask_address is not None:
            yield DaskTaskRunner(address=self.dask_address)
            return
        settings = {"n_workers": self.workers, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**settings) as cluster:  # type: ignore[no-untyped-call]
            yield DaskTaskRunner(address=cluster.scheduler_address)


def settle_stage(run: Run, stage: str, placement: Placement) -> None:
    """Settle the batches of a stage, wave by wave, and keep the record of what came of them."""
    try:
        for wave in run.stages()[stage]:
            if placement.in_this_thread:
                for batch in wave:
                    _take(run, batch, _task(batch)(*_arguments(run, batch), return_state=True))
            else:
                futures = [(batch, _task(batch).submit(*_arguments(run, batch))) for batch in wave]
                for batch, future in futures:
                    future.wait()
                    _take(run, batch, future.state)
    except BaseException:
        run.stop()
        raise


def _task(batch: Batch) -> Any:
    return TASK_OF_STAGE[batch.stage].with_options(task_run_name=batch.title, tags=batch.tags)


def _arguments(run: Run, batch: Batch) -> tuple[Any, ...]:
    return run.order, batch, run.keys(batch), run.drafts(batch)


def _take(run: Run, batch: Batch, state: State[Any]) -> None:
    """Keep the record of a batch. A task that broke down, say because its worker died, fails the cells it left."""
    settled = state.result(raise_on_failure=False)
    if isinstance(settled, Settled):
        run.take(settled)
        return
    if isinstance(settled, UserError):
        raise settled
    error = f"the task broke down: {settled or state.message}"
    for cell in batch.cells:
        if cell.name not in run.outcomes:
            run.settled(CellOutcome(cell, "run", "failed", "", error=error))
