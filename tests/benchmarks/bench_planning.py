"""How long `dat plan` takes in full when there is nothing to do, by the number of cells, and when one cell is stale.

Beside it: the same command when nothing at all has changed since, and the index over as many manifests.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack

import duckdb

from data_catalog.index.database import update_index
from data_catalog.index.reader import query
from tests.benchmarks.synthetic_store import SUITE, SyntheticStore, synthetic_store
from tests.benchmarks.timing import DAT, Row, Timing, command, hand_on, measure, print_table, released

LARGE = ("torch", "prefect", "sklearn", "scipy", "pandas", "transformers", "open_clip", "wilds", "duckdb", "pyarrow")
QUESTION = "SELECT count(*), max(wg) FROM results"
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
    parser.add_argument("--sizes", type=int, nargs=3, default=[1000, 10_000, 100_000], help="numbers of cells")
    parser.add_argument("--repeat", type=int, default=5, help="of what is not planned in full")
    parser.add_argument("--rounds", type=int, default=3, help="in which all are planned in full, in turn")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        stores: dict[int, SyntheticStore] = {}
        for size in arguments.sizes:
            store = stack.enter_context(synthetic_store(size))
            stores[sum(1 for _ in store.publish())] = store
        in_full = plans_in_full(stores, arguments.rounds)
        columns: list[tuple[object, ...]] = []
        imported: set[str] = set()
        for cells, store in stores.items():
            columns.append(_row(cells, "none", in_full[cells]))
            again = command([DAT, "plan", SUITE, "--check"], environment=store.environment)
            again()
            columns.append(_row(cells, "nothing changed since", measure(again, repeat=arguments.repeat)))
            if cells == max(stores):
                hand_on([_question(store, cells, arguments.repeat)])
            else:
                imported |= _imported(store)
                _remove_one(store)
                columns.append(_row(cells, "one", measure_plan(store, cells, arguments.repeat, stale=1)))
    print("`dat plan SUITE --check`: wall and processor time of the command")
    print_table(("cells", "stale", "median s", "range", "processor s", "ms a cell"), columns)
    forbidden = " and ".join(sorted(imported & {"torch", "prefect"}))
    print(f"  imports of torch or prefect: {forbidden or 'none'}")
    print(f"  other large libraries imported: {', '.join(sorted(imported - {'torch', 'prefect'})) or 'none'}")
    (_, small), (few, middle), (many, large) = ((cells, plan.processor_median) for cells, plan in in_full.items())
    # What every command costs, however few the cells, is no part of the growth.
    grown = ((large - small) / many) / ((middle - small) / few)
    ours, peer = (f"{1000 * (cost - small) / n:.2f} ms, of {n:,}" for cost, n in ((large, many), (middle, few)))
    hand_on([Row("planning in full: processor time a cell as cells grow tenfold", ours, peer, grown, at_most=1.25)])


def plans_in_full(stores: Mapping[int, SyntheticStore], rounds: int) -> dict[int, Timing]:
    """Time the plan of each store, by its number of cells, in turn, so that a slow moment hits all of them."""
    took: dict[int, list[Timing]] = {cells: [] for cells in stores}
    for _ in range(rounds):
        for cells, store in stores.items():
            took[cells].append(measure_plan(store, cells, 1, warm_up=not took[cells]))
    return {
        cells: Timing(tuple(one.wall[0] for one in of_all), tuple(one.processor[0] for one in of_all))
        for cells, of_all in took.items()
    }


def _question(store: SyntheticStore, cells: int, repeat: int) -> Row:
    """Time a question about all results, and the same put to DuckDB itself."""
    started = time.perf_counter()
    update_index(store.home, anew=True)
    print(f"(the index over {cells:,} manifests made anew in {time.perf_counter() - started:.0f} s)", flush=True)
    asked = measure(lambda: query(store.home, QUESTION), repeat=repeat)
    with duckdb.connect(str(store.home.index), read_only=True) as connection:
        bare = measure(lambda: connection.execute(QUESTION).fetchall(), repeat=repeat)
    return Row(
        f"a question about all `results` of {cells:,} cells",
        f"{asked.median:.2f} s",
        f"{released('duckdb')} itself: {bare.median:.2f} s",
        asked.median / bare.median,
        note="ours looks at every manifest's time first, to be sure of the index",
    )


def measure_plan(store: SyntheticStore, cells: int, repeat: int, stale: int = 0, warm_up: bool = True) -> Timing:
    """Time the command, after once to warm up, which also proves that as many cells as said are stale."""
    words = [DAT, "plan", SUITE, *(["--check"] if not stale else [])]
    plan = command(words, environment=store.environment)
    if warm_up:
        counts = ", ".join([f"{cells - stale} up to date", *([f"{stale} run"] if stale else [])])
        forget_stamps(store)
        printed = plan().splitlines()[-1]
        if printed != f"{cells} cells: {counts}":
            raise RuntimeError(f"expected {cells} cells: {counts}; the plan says {printed}")
    return measure(plan, repeat=repeat, prepare=lambda: forget_stamps(store))


def forget_stamps(store: SyntheticStore) -> None:
    """Have the next plan be made in full."""
    shutil.rmtree(store.home.root / "stamps", ignore_errors=True)


def _row(cells: int, stale: str, timing: Timing) -> tuple[object, ...]:
    return cells, stale, timing.median, timing.spread, timing.processor_median, 1e3 * timing.median / cells


def _imported(store: SyntheticStore) -> set[str]:
    words = [sys.executable, "-c", _NAME_LARGE, "plan", SUITE, "--check"]
    return set(command(words, environment=store.environment)().splitlines()[-1].split())


def _remove_one(store: SyntheticStore) -> None:
    """Take back an artifact that no other cell needs. The plan then also looks for what the cell had before."""
    min((store.home.manifests / "metrics").iterdir()).unlink()


if __name__ == "__main__":
    main()
