"""The DuckDB index over manifests and run records: derived, deletable, never the truth.

It is brought up to date by comparing file names and times, so the same code fills an empty index, adds what is new,
and serves a reader whose index file is behind or unusable. The file is never written in place: a new one is made
beside it and moved over it, so readers are never locked out and no write-ahead log is ever left behind.
"""

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data_catalog.errors import DamagedError, StoreError
from data_catalog.home import Home
from data_catalog.index.damage import add_missing, damage_row, file_rows, has_files_of_each_step
from data_catalog.index.step_views import quoted
from data_catalog.index.views import VIEWS, make_views, view_sql
from data_catalog.planning.cell import ADDRESS_FIELDS
from data_catalog.planning.code_version import code_digest
from data_catalog.store.artifacts import Store
from data_catalog.store.locking import lock
from data_catalog.store.manifest import Manifest
from data_catalog.store.runs import read_record

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BATCH = 2000


def update_index(home: Home, *, anew: bool = False) -> None:
    """Bring the index file of a prepared home up to date; `anew` rebuilds it, reading every manifest again.

    For the process that runs the flow only.
    """
    import duckdb

    with lock(home.locks / "index.lock"), _draft(home) as draft:
        with duckdb.connect(str(draft)) as connection:
            bring_up_to_date(connection, home, reuse=not anew)
            connection.execute("CHECKPOINT")
        home.index.with_suffix(".duckdb.wal").unlink(missing_ok=True)
        draft.replace(home.index)


@contextmanager
def _draft(home: Home) -> Iterator[Path]:
    import duckdb

    draft = home.staging / ".catalog.draft.duckdb"
    leftovers = (draft, draft.with_suffix(".duckdb.wal"))
    try:
        for path in leftovers:
            path.unlink(missing_ok=True)
        yield draft
    except (OSError, duckdb.Error) as error:
        raise StoreError(f"index cannot be written: {error}", where=str(home.index)) from error
    finally:
        for path in leftovers:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def bring_up_to_date(connection: "DuckDBPyConnection", home: Home, *, reuse: bool) -> None:
    """Fill an empty database with tables and views, starting from the index file where that can be trusted."""
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")  # where Python is interactive, it would stand in our output
    if not (reuse and _copied_from_file(connection, home)):
        connection.execute(f"DROP SCHEMA IF EXISTS store CASCADE; {_tables()}")
    connection.execute("BEGIN")
    _add_manifests(connection, Store(home))
    _add_runs(connection, home)
    connection.execute(_CELLS)
    add_missing(connection, Store(home))
    _insert(connection, "paper", _paper_rows())
    _sign(connection, home)
    connection.execute("COMMIT")
    complete = has_files_of_each_step(connection, home)  # else views are made as if there had never been any
    if not make_views(connection, home) or not complete:
        connection.execute("UPDATE store.meta SET fingerprint = NULL")


def is_current(connection: "DuckDBPyConnection", home: Home) -> bool:
    """Whether an opened index file says what the manifests and run records say now."""
    row = connection.execute("SELECT recipe, home, fingerprint FROM store.meta").fetchone()
    now = _fingerprint(Store(home).stamps(), run_stamps(home))
    return row == (recipe(), str(home.root), now)


def has_log(home: Home) -> bool:
    """Whether a write-ahead log lies beside the index: we never leave one, and a damaged one loses rows silently."""
    return home.index.with_suffix(".duckdb.wal").exists()


def run_stamps(home: Home) -> dict[str, tuple[int, int]]:
    """Return {run: size of its record, and when it was written, in nanoseconds}."""
    found = {path.stem: path.stat() for path in home.runs.glob("r*.jsonl") if path.is_file()}
    return {run_id: (status.st_size, status.st_mtime_ns) for run_id, status in found.items()}


@cache
def recipe() -> str:
    """Return the version of the index: the text that makes its tables and views, and the paper's numbers."""
    texts = [_tables(), *map(view_sql, VIEWS), _CELLS, _paper_csv()]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _fingerprint(stamps: dict[tuple[str, str], int], runs: dict[str, tuple[int, int]]) -> str:
    lines = [f"{step} {key} {stamp}" for (step, key), stamp in stamps.items()]
    lines += [f"{run_id} {size} {stamp}" for run_id, (size, stamp) in runs.items()]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


@cache
def _tables() -> str:
    return (resources.files("data_catalog.index") / "sql" / "tables.sql").read_text(encoding="utf-8")


@cache
def _paper_csv() -> str:
    return (resources.files("data_catalog") / "paper" / "paper.csv").read_text(encoding="utf-8")


_KNOWN_MANIFESTS = """
SELECT step, key, stamp FROM store.artifacts
UNION ALL SELECT step, key, stamp FROM store.damage WHERE kind = 'manifest'
"""


def _sign(connection: "DuckDBPyConnection", home: Home) -> None:
    """Note what this index was made from, damaged manifests among it."""
    stamps = connection.execute(_KNOWN_MANIFESTS).fetchall()
    runs = connection.execute("SELECT run_id, size, stamp FROM store.runs").fetchall()
    fingerprint = _fingerprint(
        {(step, key): stamp for step, key, stamp in stamps}, {run_id: (size, stamp) for run_id, size, stamp in runs}
    )
    connection.execute("INSERT INTO store.meta VALUES (?, ?, ?)", [recipe(), str(home.root), fingerprint])


def _copied_from_file(connection: "DuckDBPyConnection", home: Home) -> bool:
    """Copy the rows of the index file; False when it is not there, another version's or home's, or damaged.

    Every block is read in full, so DuckDB's own checksums tell when the file is damaged.
    """
    import duckdb

    if has_log(home) or not home.index.exists():
        return False
    try:
        connection.execute(f"ATTACH {quoted(home.index)} AS file (READ_ONLY)")
        try:
            origin = connection.execute("SELECT recipe, home FROM file.store.meta").fetchone()
            if origin != (recipe(), str(home.root)):
                return False
            connection.execute(_tables())
            for table in ("artifacts", "lineage", "files", "damage", "runs", "decisions"):
                connection.execute(f"INSERT INTO store.{table} SELECT * FROM file.store.{table}")
        finally:
            connection.execute("DETACH file")
    except (duckdb.Error, RuntimeError, UnicodeDecodeError):
        return False
    return True


def _add_manifests(connection: "DuckDBPyConnection", store: Store) -> None:
    stamps = store.stamps()
    known = connection.execute(_KNOWN_MANIFESTS).fetchall()
    outdated = {(step, key) for step, key, stamp in known if stamps.get((step, key)) != stamp}
    for table in ("artifacts", "lineage", "files", "damage"):
        connection.execute(f"DELETE FROM store.{table} WHERE list_contains(?, key)", [[key for _, key in outdated]])
    up_to_date = {(step, key) for step, key, _ in known} - outdated
    waiting = iter([place for place in stamps if place not in up_to_date])
    while places := list(islice(waiting, _BATCH)):
        found, damaged = [], []
        for step, key in places:
            try:
                manifest = store.find(step, key)
            except DamagedError as error:
                damaged.append(damage_row("manifest", step, key, error.problem, stamp=stamps[step, key]))
                continue
            if manifest is not None:
                found.append((manifest, stamps[step, key]))
        _insert(connection, "artifacts", [_artifact_row(manifest, stamp) for manifest, stamp in found])
        _insert(connection, "lineage", [row for manifest, _ in found for row in _lineage_rows(manifest)])
        _insert(connection, "files", [row for manifest, _ in found for row in file_rows(manifest)])
        _insert(connection, "damage", damaged)


def _artifact_row(manifest: Manifest, stamp: int) -> dict[str, Any]:
    return {
        **_address(manifest.address),
        "key": manifest.key,
        "stamp": stamp,
        "step": manifest.step,
        "cell": manifest.cell,
        "content": manifest.content,
        "rows": manifest.rows,
        "bytes": manifest.bytes,
        "files": len(manifest.files),
        "path": manifest.files[0].path if manifest.files else None,
        "created": manifest.created,
        "run_id": manifest.run_id,
        "code_version": code_digest(manifest.code),
        "code": manifest.code,
        "params": manifest.params,
        "facts": manifest.facts,
        "summary": manifest.summary,
        "cost": manifest.cost,
    }


def _lineage_rows(manifest: Manifest) -> list[dict[str, Any]]:
    return [
        {"key": manifest.key, "role": role, "parent_key": parent.key, "parent_content": parent.content}
        for role, parent in manifest.parents.items()
    ]


def _address(address: Mapping[str, Any]) -> dict[str, Any]:
    """Return the address with empty text for what does not apply, so that SQL joins need no special case."""
    return {**{name: address.get(name, "") for name in ADDRESS_FIELDS}, "seed": address.get("seed", 0)}


def _add_runs(connection: "DuckDBPyConnection", home: Home) -> None:
    stamps = run_stamps(home)
    rows = connection.execute("SELECT run_id, size, stamp FROM store.runs").fetchall()
    known = {run_id: (size, stamp) for run_id, size, stamp in rows}
    changed = [run_id for run_id in known.keys() | stamps.keys() if known.get(run_id) != stamps.get(run_id)]
    for table in ("runs", "decisions"):
        connection.execute(f"DELETE FROM store.{table} WHERE list_contains(?, run_id)", [changed])
    connection.execute("DELETE FROM store.damage WHERE kind = 'record' AND list_contains(?, key)", [changed])
    for run_id in changed:
        if run_id in stamps:
            record = read_record(home.runs / f"{run_id}.jsonl")
            _insert(connection, "runs", [_run_row(run_id, stamps[run_id], record.lines)])
            _insert(connection, "decisions", _decision_rows(run_id, record.lines))
            if record.damaged:
                problem = f"{record.damaged} of its lines are damaged"
                _insert(connection, "damage", [damage_row("record", "", run_id, problem, cell=f"run {run_id}")])


def _run_row(run_id: str, stamp: tuple[int, int], lines: list[dict[str, Any]]) -> dict[str, Any]:
    start = next((line for line in lines if line["type"] == "start"), {})
    end = next((line for line in lines if line["type"] == "end"), {})
    return {
        "run_id": run_id,
        "size": stamp[0],
        "stamp": stamp[1],
        "started": start.get("at"),
        "finished": end.get("at"),
        "status": end.get("status", "unfinished"),
        **{name: start.get(name) for name in ("command", "request", "host", "pid")},
    }


def _decision_rows(run_id: str, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    decisions = [line for line in lines if line["type"] == "decision"]
    return [
        {
            **line,
            **_address(line.get("address", {})),
            "run_id": run_id,
            "position": position,
            "decided": line.get("at"),
        }
        for position, line in enumerate(decisions)
    ]


def _paper_rows() -> list[dict[str, Any]]:
    rows = csv.DictReader(_paper_csv().splitlines())
    return [{**row, **{name: row[name] or None for name in ("wg", "avg", "gap", "seconds")}} for row in rows]


def _insert(connection: "DuckDBPyConnection", table: str, rows: list[dict[str, Any]]) -> None:
    """Insert rows by way of one JSON text, which DuckDB reads far faster than rows one by one."""
    columns = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'store' AND table_name = ?",
        [table],
    ).fetchall()
    shape = json.dumps([dict(columns)])
    for start in range(0, len(rows), _BATCH):
        text = json.dumps([{name: row.get(name) for name, _ in columns} for row in rows[start : start + _BATCH]])
        connection.execute(
            f"INSERT INTO store.{table} SELECT unnest(from_json(?, ?), recursive := true)", [text, shape]
        )


# For each cell the artifact that the last run decided for, else the newest one that was computed for it.
_CELLS = """
INSERT INTO store.cells
WITH claims AS (
    SELECT cell, step, dataset, backbone, method, variant, seed, key, run_id AS run, position, decided AS moment
    FROM store.decisions WHERE key IS NOT NULL
    UNION ALL
    SELECT cell, step, dataset, backbone, method, variant, seed, key, '', -1, created FROM store.artifacts
)
SELECT DISTINCT ON (cell) cell, step, dataset, backbone, method, variant, seed, key
FROM claims SEMI JOIN store.artifacts USING (key)
ORDER BY cell, run DESC, position DESC, moment DESC, key
"""
