"""How long a person waits for each command: those that only look in full, those that compute with nothing to do."""

import argparse
import os
import shlex
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.timing import DAT, Row, command, hand_on, measure, print_table
from tests.small_wordnet import write_wordnet

SAMPLE = "test-004800"
COMMANDS = (
    (["sql", "select 1"], "under 1 s"),
    (["--help"], ""),
    (["ls", "methods"], ""),
    (["ls", "datasets"], ""),
    (["status"], ""),
    (["why", "zero_shot"], ""),
    (["explain", "simbirds", "simclip", SAMPLE], ""),
    (["validate"], ""),
    (["verify"], ""),
    (["gc", "--scope", "superseded"], ""),
    (["catalog", "rebuild"], ""),
    (["plan", "simulated", "--set", "seed=1"], "planned in full"),
    (["plan", "simulated"], ""),
    (["run", "simulated"], ""),
    (["doctor"], "asks the network, too"),
    (["prompts", "wordnet", "water", "--folder", "dict"], "a small database"),
    (["report", "--help"], ""),
    (["import", "embeddings", "--help"], ""),
)


def main() -> None:
    """Time each command on a store that holds the simulated suite, after once to warm up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        place = Path(folder)
        environment = {**os.environ, "DAT_HOME": str(place / "home")}
        write_wordnet(place / "dict")
        command([DAT, "run", "simulated"], environment=environment, folder=place)()
        time.sleep(3)  # what has changed a moment ago is planned in full
        rows: list[tuple[str, float, str, float, str]] = []
        timed = [([sys.executable, "-c", "pass"], "python -c pass", "")]
        timed += [([DAT, *words], f"dat {shlex.join(words)}", goal) for words, goal in COMMANDS]
        for words, name, goal in timed:
            run = command(words, environment=environment, folder=place)
            run()
            timing = measure(run, repeat=arguments.repeat)
            rows.append((name, timing.median, timing.spread, timing.processor_median, goal))
    bare = rows[0][1]
    for name, took, *_ in rows[1:]:
        hand_on([Row(f"start of `{name}`", f"{took:.2f} s", f"python -c pass: {bare:.2f} s", took / bare)])
    print("wall time of commands on a store that holds the simulated suite, everything up to date")
    print_table(("command", "median s", "range", "processor s", "goal"), rows)


if __name__ == "__main__":
    main()
