"""The same no-op, the paper's suite, by DVC, by Snakemake and by Prefect's own cache, of as many stages.

Each tool is given the form it is best at. DVC: a stage a cell, with one input and one output; its lock file and cache
are written here as `dvc repro` would, which takes very long for many stages, and `dvc status` has to agree. Snakemake:
one rule, a job a cell, as a rule is what a step is to us; the jobs really run once, since that alone records what later
reruns are decided by. Prefect: a flow of tasks cached by their inputs, the flow's second run alone, on a server that is
up, in a process that has all imported; fewer of them, since each costs the same. Ours: the cells of the suite, most
with two or three inputs each; once as a rerun finds them, once when a file has a new time and all is planned in full.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from data_catalog.home import Home
from flows.temporary_server import temporary_server
from tests.benchmarks.synthetic_store import synthetic_store
from tests.benchmarks.timing import DAT, Row, Timing, command, hand_on, measure, print_table, released

PACKAGES = {"dvc": "3.67.1", "snakemake": "9.27.1"}
SLOW = 20.0  # seconds: what takes longer is timed once, after a warm-up
_SNAKEFILE = """
rule all:
    input: expand("out/{{cell}}.txt", cell=range({stages}))
rule compute:
    input: "in/{{cell}}.txt"
    output: "out/{{cell}}.txt"
    shell: "cp {{input}} {{output}}"
"""


@dataclass(frozen=True)
class NoOp:
    """A no-op: `kind` says with which of ours it is compared, `plan` or `run`."""

    words: str
    kind: str
    stages: int
    timing: Timing
    tool: str = ""


def main() -> None:
    """Time the no-ops and print them side by side."""
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="paper", help="the suite whose rerun is timed")
    parser.add_argument("--repeat", type=int, default=5, help=f"times each; what takes over {SLOW:g} s is timed once")
    parser.add_argument("--tasks", type=int, default=200, help="cached tasks of Prefect that are timed")
    parser.add_argument("--venv", type=Path, default=root / ".venv-bench", help="where DVC and Snakemake are installed")
    arguments = parser.parse_args()
    problem = _install(arguments.venv)
    if problem:
        raise RuntimeError(f"DVC and Snakemake could not be installed into {arguments.venv}: {problem}")
    print(", ".join([*(f"{name} {version}" for name, version in PACKAGES.items()), released("prefect")]))
    tools = arguments.venv.absolute() / "bin"
    ours = list(_ours(arguments.suite, arguments.repeat))
    stages = ours[0].stages
    peers = [
        *_snakemake(tools, stages, arguments.repeat),
        *_dvc(tools, stages, arguments.repeat),
        _prefect(arguments.tasks, stages),
    ]
    base = {row.kind: row.timing for row in ours[:2]}
    print(f"a no-op of {stages:,} stages; ratios of wall and of processor time are to our command of the same kind")
    print_table(
        ("command", "median s", "range", "times", "processor s", "wall", "processor", "of"),
        [
            (
                row.words,
                row.timing.median,
                row.timing.spread,
                len(row.timing.wall),
                row.timing.processor_median,
                f"{row.timing.median / base[row.kind].median:.1f} x",
                f"{row.timing.processor_median / base[row.kind].processor_median:.1f} x",
                f"dat {row.kind}",
            )
            for row in [*ours, *peers]
        ],
    )
    for mine in ours:
        for peer in peers:
            if peer.kind == mine.kind:
                hand_on([_row(mine, peer, quick=mine.timing is base[mine.kind])])


def _row(mine: NoOp, peer: NoOp, *, quick: bool) -> Row:
    name, _, version = peer.tool.partition(" ")
    took = f"{name} {version}{peer.words.removeprefix(name)}: {peer.timing.median:.2f} s"
    ratio = peer.timing.median / mine.timing.median
    busy = peer.timing.processor_median / mine.timing.processor_median
    return Row(
        f"no-op of {name} over `{mine.words}`",
        f"{mine.timing.median:.2f} s",
        took,
        ratio,
        at_least=10 if quick and mine.kind == "run" else None,
        note=f"{mine.stages:,} stages; {busy:.3g} in processor time",
    )


def _ours(suite: str, repeat: int) -> Iterator[NoOp]:
    with synthetic_store(0, suite) as store:
        cells = sum(1 for _ in store.publish())
        time.sleep(3)  # what has changed a moment ago is planned in full
        touched = store.root / "specs" / "touched.toml"
        for fresh in (False, True):
            for kind in ("plan", "run"):
                words = [kind, suite, *(["--check"] if kind == "plan" else [])]
                no_op = command([DAT, *words], environment=store.environment)
                timing = _timed(
                    no_op, repeat, proof=f"{cells} up to date", prepare=touched.touch if fresh else _nothing
                )
                yield NoOp(f"dat {' '.join(words)}{', a file touched' if fresh else ''}", kind, cells, timing)


def _nothing() -> None:
    pass


_FLOW = """
import json, os, resource, sys, time
from prefect import flow, task
from prefect.cache_policies import INPUTS

@task(cache_policy=INPUTS, persist_result=True)
def compute(number: int) -> int:
    return number

@flow
def cells(count: int) -> list[str]:
    return [compute(number, return_state=True).name for number in range(count)]

count = int(sys.argv[1])
cells(count)
started, used = time.perf_counter(), time.process_time()
names = cells(count)
print(json.dumps([time.perf_counter() - started, time.process_time() - used, sorted(set(names))]))
"""


def _prefect(tasks: int, stages: int) -> NoOp:
    """Time the second run of a flow of cached tasks, and scale it from `tasks` to `stages`."""
    with TemporaryDirectory(prefix="dat-bench-") as folder, temporary_server(Home(Path(folder))) as wait:
        wait()
        environment = {**os.environ, "PREFECT_LOGGING_LEVEL": "CRITICAL", "PREFECT_LOGGING_TO_API_ENABLED": "false"}
        environment["PREFECT_LOCAL_STORAGE_PATH"] = str(Path(folder) / "results")
        printed = command([sys.executable, "-c", _FLOW, str(tasks)], environment=environment)()
    wall, processor, names = json.loads(printed.splitlines()[-1])
    if names != ["Cached"]:
        raise RuntimeError(f"expected cached tasks, but they are {names}")
    print(f"(prefect: {1000 * wall / tasks:.1f} ms a cached task, {tasks} of them, the server's work not counted)")
    timing = Timing((wall * stages / tasks,), (processor * stages / tasks,))
    return NoOp(f"prefect, {tasks} cached tasks, scaled", "run", stages, timing, released("prefect"))


def _snakemake(tools: Path, stages: int, repeat: int) -> Iterator[NoOp]:
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        place = Path(folder)
        _write_inputs(place, stages)
        (place / "Snakefile").write_text(_SNAKEFILE.format(stages=stages))
        words = [str(tools / "snakemake"), "--scheduler", "greedy"]
        environment = _apart(place)
        started = time.perf_counter()
        command([*words, "--cores", "2", "--quiet", "all"], environment=environment, folder=place)()
        print(f"(snakemake computed its {stages:,} jobs in {time.perf_counter() - started:.0f} s)", flush=True)
        for kind, shown, flags in (("plan", "-n", ["-n"]), ("run", "--cores 2", ["--cores", "2"])):
            no_op = command([*words, *flags], environment=environment, folder=place)
            timing = _timed(no_op, repeat, proof="Nothing to be done")
            yield NoOp(f"snakemake {shown}", kind, stages, timing, f"snakemake {PACKAGES['snakemake']}")


def _dvc(tools: Path, stages: int, repeat: int) -> Iterator[NoOp]:
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        place, dvc = Path(folder), str(tools / "dvc")
        environment = _apart(place)
        command([dvc, "init", "--no-scm", "--quiet"], environment=environment, folder=place)()
        command([dvc, "config", "core.check_update", "false"], environment=environment, folder=place)()
        _write_dvc_stages(place, stages)
        for kind, word in (("plan", "status"), ("run", "repro")):
            no_op = command([dvc, word], environment=environment, folder=place)
            timing = _timed(no_op, repeat, proof="are up to date")
            yield NoOp(f"dvc {word}", kind, stages, timing, f"dvc {PACKAGES['dvc']}")


def _timed(no_op: Callable[[], str], repeat: int, proof: str, prepare: Callable[[], object] = _nothing) -> Timing:
    """Run a no-op once to warm up and to see that it is one, then time it."""
    started = time.perf_counter()
    printed = no_op()
    if proof not in printed:
        raise RuntimeError(f"expected a no-op ({proof}), but it printed:\n{printed[-2000:]}")
    return measure(no_op, repeat=1 if time.perf_counter() - started > SLOW else repeat, prepare=prepare)


def _write_inputs(place: Path, stages: int) -> None:
    (place / "in").mkdir()
    (place / "out").mkdir()
    for number in range(stages):
        (place / "in" / f"{number}.txt").write_text(f"cell {number}\n")


def _write_dvc_stages(place: Path, stages: int) -> None:
    """Write a pipeline, its outputs, and the lock file and cache that running it would leave."""
    _write_inputs(place, stages)
    pipeline, locked = ["stages:"], ["schema: '2.0'", "stages:"]
    for number in range(stages):
        source, target = f"in/{number}.txt", f"out/{number}.txt"
        text = (place / source).read_text()
        digest = hashlib.md5(text.encode()).hexdigest()
        kept = place / ".dvc" / "cache" / "files" / "md5" / digest[:2] / digest[2:]
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text)
        (place / target).write_text(text)
        stage = f"  cell{number}:\n    cmd: cp {source} {target}"
        state = f"hash: md5, md5: {digest}, size: {len(text)}"
        pipeline.append(f"{stage}\n    deps: [{source}]\n    outs: [{target}]")
        locked.append(
            f"{stage}\n    deps: [{{path: {source}, {state}}}]\n    outs: [{{path: {target}, {state}}}]",
        )
    (place / "dvc.yaml").write_text("\n".join(pipeline) + "\n")
    (place / "dvc.lock").write_text("\n".join(locked) + "\n")


def _apart(place: Path) -> dict[str, str]:
    """Return variables that keep a tool's caches and settings in its own folder, and its reports at home."""
    home = place / ".home"
    caches = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "DVC_SITE_CACHE_DIR": str(home / "dvc")}
    return {**os.environ, **caches, "DVC_NO_ANALYTICS": "1"}


def _install(venv: Path) -> str:
    """Make an environment of its own for the other tools, unless it is there; return what went wrong, if anything."""
    python = str(venv / "bin" / "python")
    wanted = [f"{name}=={version}" for name, version in PACKAGES.items()]
    check = f"from importlib.metadata import version; assert all(version(n) == v for n, v in {PACKAGES}.items())"
    if Path(python).exists() and subprocess.run([python, "-c", check], capture_output=True).returncode == 0:
        return ""
    print(f"installing {' and '.join(wanted)} into {venv} (a minute or two)", flush=True)
    steps = ([sys.executable, "-m", "venv", str(venv)], [python, "-m", "pip", "install", "--quiet", *wanted])
    for words in steps:
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            return next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "pip failed")
    return ""


if __name__ == "__main__":
    main()
