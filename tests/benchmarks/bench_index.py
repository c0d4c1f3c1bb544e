"""How long the index takes: made anew, brought up to date, and asked while it is current, behind or absent."""

import argparse
from itertools import islice

from data_catalog.index import update_index
from data_catalog.reader import query
from tests.benchmarks.synthetic_store import SyntheticStore, synthetic_store
from tests.benchmarks.timing import DAT, Timing, command, measure, print_table

QUESTION = "SELECT count(*), max(wg) FROM results"


def main() -> None:
    """Time the index of a store of many manifests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the number of manifests, 10,000")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    count = round(10_000 * arguments.scale)
    with synthetic_store(count + 10 * arguments.repeat) as store:
        rows = [
            (name, timing.median, timing.spread, timing.processor_median, goal)
            for name, timing, goal in _timings(store, count, arguments.repeat)
        ]
    print(f"the index over {count:,} manifests; questions are `{QUESTION}`")
    print_table(("", "median s", "range", "processor s", "goal"), rows)


def _timings(store: SyntheticStore, count: int, repeat: int) -> list[tuple[str, Timing, str]]:
    home = store.home
    more = store.publish()
    for _ in islice(more, count):
        pass

    def ask() -> None:
        query(home, QUESTION)

    def forget() -> None:
        home.index.unlink(missing_ok=True)

    def publish_one() -> None:
        next(more)

    sql = command([DAT, "sql", QUESTION], environment=store.environment)
    rebuild = measure(command([DAT, "catalog", "rebuild"], environment=store.environment), repeat=repeat)
    current = measure(ask, repeat=repeat)
    current_command = measure(sql, repeat=repeat)
    update = measure(lambda: update_index(home), repeat=repeat, prepare=publish_one)
    publish_one()
    behind = measure(ask, repeat=repeat)
    behind_command = measure(sql, repeat=repeat)
    absent = measure(ask, repeat=repeat, prepare=forget)
    absent_command = measure(sql, repeat=repeat, prepare=forget)
    return [
        ("`dat catalog rebuild`", rebuild, "under 10 s"),
        ("update after one new artifact, in the process of a run", update, ""),
        ("question, index current", current, ""),
        ("question, index current, `dat sql`", current_command, ""),
        ("question, index one artifact behind", behind, ""),
        ("question, index one artifact behind, `dat sql`", behind_command, ""),
        ("question, index absent", absent, ""),
        ("question, index absent, `dat sql`", absent_command, ""),
    ]


if __name__ == "__main__":
    main()
