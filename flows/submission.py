"""From the cells of a run to task runs of Prefect: in this thread, in several, or on a Dask cluster."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal
from uuid import UUID

from prefect import State, Task
from prefect.client.schemas.objects import TaskRunResult
from prefect.task_engine import run_task
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from data_catalog.errors import UserError
from data_catalog.planning.cell import Cell
from tasks.engine.batches import Batch, batches
from tasks.engine.events import CellOutcome
from tasks.engine.execution import Assignment, Settled
from tasks.engine.run import Run

_POLLING_SECONDS = 0.02


@dataclass(frozen=True)
class Stage:
    """A task of the pipeline and the cells it brings up to date.

    `steps` is the name of their step, or a pattern of names; `variants` says whether it takes those with other settings
    than the dataset's own, or only those, where two tasks share a step.
    """

    task: Task[..., Any]
    steps: str
    variants: bool | None = None
    counted: str = ""
    """What its cells are called where the name of a task run says how many there are."""

    def takes(self, cell: Cell) -> bool:
        """Whether a cell is of this stage."""
        has_variant = bool(cell.address.get("variant"))
        return fnmatchcase(cell.step, self.steps) and self.variants in (None, has_variant)

    def title(self, batch: Batch) -> str:
        """Return what a person calls the task run of a batch, such as `predict waterbirds x clip (19 methods)`."""
        count = f" ({len(batch.decisions)} {self.counted})" if self.counted else ""
        return f"{self.task.name} {batch.place}".strip() + count


@dataclass(frozen=True)
class Placement:
    """Where tasks run, and how many at the same time."""

    runner: Literal["threads", "dask"] = "threads"
    workers: int = 1
    dask_address: str | None = None

    @property
    def in_this_thread(self) -> bool:
        """Whether tasks run one after the other in the flow's own thread, where Ctrl-C stops them at once."""
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


def check_stages(cells: Iterable[Cell], stages: Sequence[Stage]) -> None:
    """Raise a `UserError` where a cell is of no stage, or of one before that of a cell it depends on."""
    place: dict[str, int] = {}
    for cell in cells:
        found = [number for number, stage in enumerate(stages) if stage.takes(cell)]
        if len(found) != 1:
            raise UserError(
                f"{len(found)} stages of the benchmark take cells of the step {cell.step}, such as {cell.name}",
                where="flows/benchmark.py",
                remedy="each step is taken by one stage: add it to the pipeline there",
            )
        place[cell.name] = found[0]
        late = [parent for parent in cell.parents.values() if place[parent] > found[0]]
        if late:
            raise UserError(f"{cell.name} comes before {late[0]}, which it depends on", where="flows/benchmark.py")


def carry_out(run: Run, stages: Sequence[Stage], placement: Placement) -> None:
    """Bring the stale cells of a run up to date: a task per stage and (dataset, backbone), each as soon as it can run.

    Prefect is told which tasks depend on which, so its run graph shows the edges.
    """
    waiting = [_TaskRun(stage, batch) for stage in stages for batch in batches(run.decisions, stage.takes)]
    of_cell = {cell.name: one for one in waiting for cell in one.batch.cells}
    running: dict[_TaskRun, Any] = {}
    with placement.task_runner() as runner, runner, _stopping(run):
        while waiting or running:
            for one in list(waiting):
                before = list(dict.fromkeys(of_cell[name] for name in sorted(one.batch.upstream)))
                if any(other.state is None for other in before):
                    continue
                waiting.remove(one)
                settled = [other.settled for other in before if other.settled is not None]
                parameters = {"assignment": Assignment(run.order, one.batch, settled)}
                edges: Any = {"assignment": {TaskRunResult(id=other.id) for other in before if other.id is not None}}
                if placement.in_this_thread:
                    one.end(run, run_task(one.task, parameters=parameters, return_type="state", dependencies=edges))
                else:
                    running[one] = runner.submit(one.task, parameters, dependencies=edges)
            ended = [one for one, future in running.items() if future.wrapped_future.done()]
            for one in ended:
                future = running.pop(one)
                future.wait()
                one.end(run, future.state)
            if running and not ended:
                time.sleep(_POLLING_SECONDS)


@contextmanager
def _stopping(run: Run) -> Iterator[None]:
    """Have the threads that work for a run end when it is interrupted: leaving a task runner waits for them."""
    try:
        yield
    except BaseException:
        run.stop()
        raise


@dataclass(eq=False)
class _TaskRun:
    """One task run to be: the batch of a stage. `state` is how it has ended."""

    stage: Stage
    batch: Batch
    state: State[Any] | None = None

    @property
    def task(self) -> Task[..., Any]:
        batch = self.batch
        address = [("dataset", batch.dataset), ("backbone", batch.backbone), ("step", batch.cells[0].step)]
        tags = [f"{kind}:{name}" for kind, name in address if name]
        return self.stage.task.with_options(task_run_name=self.stage.title(batch), tags=tags)

    @property
    def id(self) -> UUID | None:
        """By which Prefect knows it, once it has ended."""
        return self.state.state_details.task_run_id if self.state is not None else None

    @property
    def settled(self) -> Settled | None:
        """What came of it; None of a task that broke down, whose cells count as failed."""
        if self.state is None or not self.state.is_final():
            return None
        result = self.state.result(raise_on_failure=False)
        return result if isinstance(result, Settled) else None

    def end(self, run: Run, state: State[Any]) -> None:
        """Keep the record. A task that broke down, say because its worker died, fails the cells it left."""
        self.state = state
        if self.settled is not None:
            run.take(self.settled)
            return
        cause = state.result(raise_on_failure=False) if state.is_final() else None
        if isinstance(cause, UserError):
            raise cause
        for cell in self.batch.cells:
            if cell.name not in run.outcomes:
                error = f"the task broke down: {cause or state.message}"
                run.settled(CellOutcome(cell, "run", "failed", "", error=error))
