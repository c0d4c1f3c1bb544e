"""What Prefect costs beside the work: the demo from an empty `DAT_HOME`, with Prefect's temporary server and without.

Orchestration is what the wall time has more than with `--runner inline`, which does the same work in the same process.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from data_catalog.home import Home
from data_catalog.planning.planner import Planner
from data_catalog.store.artifacts import Store
from flows.benchmark import BENCHMARK
from flows.request import Request, resolve
from tasks.engine.batches import batches
from tests.benchmarks.timing import DAT, Row, hand_on, print_table, released


def demo(folder: Path, suite: str, **variables: str) -> tuple[float, float, int]:
    """Run the suite in a new home; return the wall time, what the steps took, and the number of cells."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "DAT_"))}
    environment |= {"DAT_HOME": str(folder), **variables}
    start = time.perf_counter()
    subprocess.run([DAT, "run", suite], env=environment, check=True, capture_output=True)
    wall = time.perf_counter() - start
    question = "SELECT sum(seconds) AS work, count(*) AS cells FROM decisions"
    asked = subprocess.run(
        [DAT, "sql", question, "--format", "json"], env=environment, check=True, capture_output=True, text=True
    )
    (row,) = json.loads(asked.stdout)
    return wall, row["work"], row["cells"]


def task_runs(suite: str) -> int:
    """Return how many task runs the suite is, when all of it is stale."""
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        home = Home(Path(folder))
        decisions = Planner(Store(home)).plan(resolve(Request(suite), home).cells)
    return sum(len(batches(decisions, stage.takes)) for stage in BENCHMARK)


def main() -> None:
    """Time both ways in turn: it takes minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="demo")
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    rows: list[tuple[object, ...]] = []
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        walls: dict[str, list[float]] = {}
        for number in range(options.repeat):
            for runner in ("inline", "threads"):
                home = Path(folder) / f"{runner}{number}"
                wall, work, cells = demo(home, options.suite, DAT_RUNNER=runner)
                walls.setdefault(runner, []).append(wall)
                rows.append((runner, cells, f"{wall:.1f}", f"{work:.1f}"))
    print(f"`dat run {options.suite}` in a new DAT_HOME")
    print_table(("runner", "cells", "wall s", "steps s"), rows)
    inline, threads = (statistics.median(walls[runner]) for runner in ("inline", "threads"))
    share, tasks = (threads - inline) / threads, task_runs(options.suite)
    print(f"orchestration, as a share of the wall time: {share:.0%}   (goal: under 25%)")
    print(f"the same for each of {tasks} task runs: {1000 * (threads - inline) / tasks:.0f} ms")
    hand_on(
        [
            Row(
                f"orchestration's share of `dat run {options.suite}`",
                f"{threads:.1f} s, {tasks} task runs",
                f"--runner inline, without {released('prefect')}: {inline:.1f} s",
                share,
                at_most=0.25,
                note=f"{1000 * (threads - inline) / tasks:.0f} ms a task run, the server's start included",
            )
        ]
    )


if __name__ == "__main__":
    main()
