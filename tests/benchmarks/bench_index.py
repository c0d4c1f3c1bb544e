"""How long the index takes: made anew, brought up to date, and asked while it is current, behind or absent.

And questions about predictions, of which there are 50 million rows, beside DuckDB alone on the same Parquet files.
"""

import argparse
import time
from dataclasses import replace
from itertools import islice
from unittest.mock import patch

import duckdb
import pyarrow.parquet as pq

from data_catalog.index import reader
from data_catalog.index.database import update_index
from data_catalog.index.reader import query
from data_catalog.store.artifacts import Store, file_digest
from data_catalog.store.checked_files import CheckedFiles
from tests.benchmarks.synthetic_store import SyntheticStore, predictions_table, synthetic_store
from tests.benchmarks.timing import DAT, Row, Timing, command, hand_on, measure, print_table, released

ROWS = 50_000_000
QUESTION = "SELECT count(*), max(wg) FROM results"


def main() -> None:
    """Time the index of a store of many manifests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="multiplies the numbers of manifests, 10,000, and rows"
    )
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    count = round(10_000 * arguments.scale)
    with synthetic_store(count + 10 * arguments.repeat) as store:
        rows = [
            (name, timing.median, timing.spread, timing.processor_median, goal)
            for name, timing, goal in _timings(store, count, arguments.repeat)
        ]
        _ask_for_predictions(store, round(ROWS * arguments.scale))
    print(f"the index over {count:,} manifests; questions are `{QUESTION}`")
    print_table(("", "median s", "range", "processor s", "goal"), rows)


def _ask_for_predictions(store: SyntheticStore, rows: int) -> None:
    """Put real tables in the place of the tiny ones; time a pass over all of them, and over those of one method."""
    folder = store.home.objects / "predictions"
    files = sorted(folder.iterdir())
    tables = [predictions_table(rows // len(files), seed) for seed in range(16)]
    for number, path in enumerate(files):
        path.unlink()
        pq.write_table(tables[number % len(tables)], path, compression="ZSTD", write_page_checksum=True)
    _seal(store)
    update_index(store.home)
    total = query(store.home, "SELECT count(*) FROM predictions").rows[0][0]
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{total:,} rows of predictions in {len(files):,} files, {size:,.0f} MB")
    source = f"read_parquet('{folder}/*.parquet')"
    whole = "SELECT avg((prediction = label)::INT) FROM"
    time.sleep(3)  # checks of files that have just been written are not remembered
    query(store.home, f"{whole} predictions")
    ours = measure(lambda: query(store.home, f"{whole} predictions"), repeat=3)
    part = measure(lambda: query(store.home, f"{whole} predictions WHERE method = 'tie'"), repeat=3)
    first = measure(
        lambda: query(store.home, f"{whole} predictions"),
        repeat=3,
        prepare=lambda: CheckedFiles(store.home.root).memory.unlink(missing_ok=True),
    )
    assert query(store.home, f"{whole} predictions").warnings == ()
    with patch.object(reader, "warnings_about", lambda *_: ()):
        unchecked = measure(lambda: query(store.home, f"{whole} predictions"), repeat=3)
    bare = measure(lambda: duckdb.sql(f"{whole} {source}").fetchall(), repeat=3)
    print_table(
        ("", "median s", "range", "processor s"),
        [
            (name, timing.median, timing.spread, timing.processor_median)
            for name, timing in (
                ("accuracy over all predictions", ours),
                ("the same, files checked for the first time", first),
                ("the same, nothing checked", unchecked),
                ("accuracy of one method", part),
                ("DuckDB alone, all files", bare),
            )
        ],
    )
    hand_on(
        [
            Row(
                f"a question about all of {total / 1e6:.0f} million predictions",
                f"{ours.median:.2f} s",
                f"{released('duckdb')} alone on the files: {bare.median:.2f} s",
                ours.median / bare.median,
            ),
            *(
                Row(
                    f"the same, {when}",
                    f"{timing.median:.2f} s",
                    f"without looking at the files' soundness: {unchecked.median:.2f} s",
                    timing.median / unchecked.median,
                    at_most=1.5,
                )
                for when, timing in (("all files checked for the first time", first), ("checked before", ours))
            ),
        ]
    )


def _seal(store: SyntheticStore) -> None:
    """Have the manifests of predictions tell the digests of the real tables."""
    for manifest in list(Store(store.home).manifests("predictions")):
        (file,) = manifest.files
        path = store.home.root / file.path
        sealed = replace(file, sha256=file_digest(path), bytes=path.stat().st_size)
        place = Store(store.home).manifest_path("predictions", manifest.key)
        place.write_text(replace(manifest, files=(sealed,)).to_json(), encoding="utf-8")


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
    hand_on(
        [
            Row(
                f"`dat sql` on {count:,} manifests, the index one artifact behind",
                f"{behind_command.median:.2f} s",
                f"index current: {current_command.median:.2f} s",
                behind_command.median / current_command.median,
            )
        ]
    )
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
