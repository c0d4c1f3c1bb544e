"""How long `dat plan` takes when there is nothing to do, by the number of cells, and when one cell is stale."""

import argparse
import sys

from tests.benchmarks.synthetic_store import SUITE, SyntheticStore, synthetic_store
from tests.benchmarks.timing import DAT, Timing, command, measure, print_table

LARGE = ("torch", "prefect", "sklearn", "scipy", "pandas", "transformers", "open_clip", "wilds", "duckdb", "pyarrow")
_NAME_LARGE = f"""
import sys
from flows.cli.app import run
code = run()
print(" ".join(name for name in {LARGE!r} if name in sys.modules))
sys.exit(code)
"""


def main() -> None:
    """Time plans of growing suites."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of cells 600, 2,400 and 9,600")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    small, middle, large = (round(size * arguments.scale) for size in (600, 2400, 9600))
    rows: list[tuple[object, ...]] = []
    imported: set[str] = set()
    for size in (small, middle, large):
        with synthetic_store(size) as store:
            cells = sum(1 for _ in store.publish())
            rows.append(_row(cells, 0, measure_plan(store, cells, arguments.repeat)))
            if size == middle:
                imported = _imported(store)
                _remove_one(store)
                rows.append(_row(cells, 1, measure_plan(store, cells, arguments.repeat, stale=1)))
    print("`dat plan SUITE --check`: wall time of the command (goal: 2,400 cells, none stale, under 2 s)")
    print_table(("cells", "stale", "median s", "range", "processor s", "ms a cell"), rows)
    forbidden = " and ".join(sorted(imported & {"torch", "prefect"}))
    print(f"  imports of torch or prefect: {forbidden or 'none'}")
    print(f"  other large libraries imported: {', '.join(sorted(imported - {'torch', 'prefect'})) or 'none'}")


def measure_plan(store: SyntheticStore, cells: int, repeat: int, stale: int = 0) -> Timing:
    """Time the command, after once to warm up, which also proves that as many cells as said are stale."""
    words = [DAT, "plan", SUITE, *(["--check"] if not stale else [])]
    plan = command(words, environment=store.environment)
    counts = ", ".join([f"{cells - stale} up to date", *([f"{stale} run"] if stale else [])])
    printed = plan().splitlines()[-1]
    if printed != f"{cells} cells: {counts}":
        raise RuntimeError(f"expected {cells} cells: {counts}; the plan says {printed}")
    return measure(plan, repeat=repeat)


def _row(cells: int, stale: int, timing: Timing) -> tuple[object, ...]:
    return cells, stale, timing.median, timing.spread, timing.processor_median, 1e3 * timing.median / cells


def _imported(store: SyntheticStore) -> set[str]:
    words = [sys.executable, "-c", _NAME_LARGE, "plan", SUITE, "--check"]
    return set(command(words, environment=store.environment)().splitlines()[-1].split())


def _remove_one(store: SyntheticStore) -> None:
    """Take back an artifact that no other cell needs. The plan then also looks for what the cell had before."""
    min((store.home.manifests / "metrics").iterdir()).unlink()


if __name__ == "__main__":
    main()
