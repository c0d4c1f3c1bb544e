"""`python -m tests.benchmarks [NAME ...]` runs every `bench_NAME.py` of this folder, or those named, in turn."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> int:
    """Run the benchmarks; a failing one stops none of the others. Return 1 when any failed."""
    names = sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Print times and ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(names)} (default: all)")
    parser.add_argument("--list", action="store_true", help="only list the names")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(names))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are: {', '.join(names)}")
    if arguments.list:
        print("\n".join(names))
        return 0
    failed = [name for name in arguments.names or names if not _run(name)]
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


def _run(name: str) -> bool:
    print(f"\n=== {name} {'=' * (74 - len(name))}", flush=True)
    print(f"({os.cpu_count()} processors, {os.getloadavg()[0]:.1f} processes busy before it began)", flush=True)
    started = time.perf_counter()
    words = [sys.executable, "-m", f"tests.benchmarks.bench_{name}"]
    code = subprocess.run(words, cwd=FOLDER.parents[1]).returncode
    outcome = "" if code == 0 else f", FAILED with exit code {code}"
    print(f"({time.perf_counter() - started:.0f} s{outcome})", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main())
