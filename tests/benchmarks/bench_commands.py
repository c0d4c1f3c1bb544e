"""How long a person waits for the commands that only look."""

import argparse
import os
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.timing import DAT, command, measure, print_table

COMMANDS = (
    (["sql", "select 1"], "under 1 s"),
    (["--help"], ""),
    (["ls", "methods"], ""),
    (["ls", "datasets"], ""),
    (["status"], ""),
    (["why", "zero_shot"], ""),
    (["plan", "simulated"], ""),
    (["run", "simulated"], ""),
)


def main() -> None:
    """Time each command on a store that holds the simulated suite, after once to warm up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        environment = {**os.environ, "DAT_HOME": str(Path(folder) / "home")}
        command([DAT, "run", "simulated"], environment=environment)()
        rows: list[tuple[object, ...]] = []
        timed = [([sys.executable, "-c", "pass"], "python -c pass", "")]
        timed += [([DAT, *words], f"dat {shlex.join(words)}", goal) for words, goal in COMMANDS]
        for words, name, goal in timed:
            run = command(words, environment=environment)
            run()
            timing = measure(run, repeat=arguments.repeat)
            rows.append((name, timing.median, timing.spread, timing.processor_median, goal))
    print("wall time of commands on a store that holds the simulated suite, everything up to date")
    print_table(("command", "median s", "range", "processor s", "goal"), rows)


if __name__ == "__main__":
    main()
