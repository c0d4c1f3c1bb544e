"""The same no-op, of as many stages, by DVC and by Snakemake.

Each tool is given the form it is best at. DVC: a stage a cell, with one input and one output; its lock file and cache
are written here as `dvc repro` would, which takes very long for many stages, and `dvc status` has to agree. Snakemake:
one rule, a job a cell, as a rule is what a step is to us; the jobs really run once, since that alone records what later
reruns are decided by. Ours: the cells of a suite, most with two or three inputs each.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.synthetic_store import SUITE, synthetic_store
from tests.benchmarks.timing import DAT, Timing, command, measure, print_table

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
class Row:
    """A no-op: `kind` says with which of ours it is compared, `plan` or `run`."""

    words: str
    kind: str
    stages: int
    timing: Timing


def main() -> None:
    """Time the no-ops and print them side by side."""
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", type=int, default=2400, help="at least; our suites grow by 303 cells")
    parser.add_argument("--repeat", type=int, default=3, help=f"times each; what takes over {SLOW:g} s is timed once")
    parser.add_argument("--venv", type=Path, default=root / ".venv-bench", help="where DVC and Snakemake are installed")
    arguments = parser.parse_args()
    problem = _install(arguments.venv)
    if problem:
        print(f"skipped: DVC and Snakemake could not be installed into {arguments.venv}: {problem}")
        return
    print(", ".join(f"{name} {version}" for name, version in PACKAGES.items()))
    tools = arguments.venv.absolute() / "bin"
    ours = list(_ours(arguments.stages, arguments.repeat))
    stages = ours[0].stages
    rows = [*ours, *_snakemake(tools, stages, arguments.repeat), *_dvc(tools, stages, arguments.repeat)]
    base = {row.kind: row.timing for row in ours}
    print("a no-op; ratios of wall and of processor time are to our command of the same kind")
    print_table(
        ("command", "stages", "median s", "range", "times", "processor s", "wall", "processor", "of"),
        [
            (
                row.words,
                row.stages,
                row.timing.median,
                row.timing.spread,
                len(row.timing.wall),
                row.timing.processor_median,
                f"{row.timing.median / base[row.kind].median:.1f} x",
                f"{row.timing.processor_median / base[row.kind].processor_median:.1f} x",
                f"dat {row.kind}",
            )
            for row in rows
        ],
    )


def _ours(stages: int, repeat: int) -> Iterator[Row]:
    with synthetic_store(stages) as store:
        cells = sum(1 for _ in store.publish())
        for kind, words in (("plan", ["plan", SUITE, "--check"]), ("run", ["run", SUITE])):
            no_op = command([DAT, *words], environment=store.environment)
            timing = _timed(no_op, repeat, proof=f"{cells} up to date")
            yield Row(f"dat {' '.join(words)}", kind, cells, timing)


def _snakemake(tools: Path, stages: int, repeat: int) -> Iterator[Row]:
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
            yield Row(f"snakemake {shown}", kind, stages, _timed(no_op, repeat, proof="Nothing to be done"))


def _dvc(tools: Path, stages: int, repeat: int) -> Iterator[Row]:
    with TemporaryDirectory(prefix="dat-bench-") as folder:
        place, dvc = Path(folder), str(tools / "dvc")
        environment = _apart(place)
        command([dvc, "init", "--no-scm", "--quiet"], environment=environment, folder=place)()
        command([dvc, "config", "core.check_update", "false"], environment=environment, folder=place)()
        _write_dvc_stages(place, stages)
        for kind, word in (("plan", "status"), ("run", "repro")):
            no_op = command([dvc, word], environment=environment, folder=place)
            yield Row(f"dvc {word}", kind, stages, _timed(no_op, repeat, proof="are up to date"))


def _timed(no_op: Callable[[], str], repeat: int, proof: str) -> Timing:
    """Run a no-op once to warm up and to see that it is one, then time it."""
    started = time.perf_counter()
    printed = no_op()
    if proof not in printed:
        raise RuntimeError(f"expected a no-op ({proof}), but it printed:\n{printed[-2000:]}")
    return measure(no_op, repeat=1 if time.perf_counter() - started > SLOW else repeat)


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
