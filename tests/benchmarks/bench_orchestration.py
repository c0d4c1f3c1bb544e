"""What Prefect costs beside the work: the demo from an empty `DAT_HOME`, with the temporary server of Prefect.

The work is what the steps took, by the catalog; the rest of the wall time is imports, planning, Prefect, the index and
the leaderboard. The same with `--runner inline` shows how much of the rest is Prefect's.
"""

import argparse
import json
import os
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.timing import DAT, print_table


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


def main() -> None:
    """Time each way of running the demo once: it takes minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="demo")
    options = parser.parse_args()
    rows: list[tuple[object, ...]] = []
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        ways = {
            "without Prefect": {"DAT_RUNNER": "inline"},
            "temporary server, first time": {"DAT_RUNNER": "threads"},
            "temporary server, database there": {
                "DAT_RUNNER": "threads",
                "PREFECT_HOME": str(Path(folder) / "1" / "prefect"),
            },
        }
        for number, (name, variables) in enumerate(ways.items()):
            wall, work, cells = demo(Path(folder) / str(number), options.suite, **variables)
            rows.append((name, cells, f"{wall:.1f}", f"{work:.1f}", f"{(wall - work) / wall:.0%}"))
    print(f"`dat run {options.suite}` in a new DAT_HOME")
    print_table(("way", "cells", "wall s", "steps s", "rest of the wall (goal: under 25%)"), rows)


if __name__ == "__main__":
    main()
