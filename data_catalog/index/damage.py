"""What the index notes about soundness: data files to check, and artifacts that should be there and are not."""

from typing import TYPE_CHECKING, Any

from data_catalog.home import Home
from data_catalog.index.question_sources import FILE_STEPS
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# What a run has last made of a cell, or found, and is not there. Collecting garbage never takes that.
_MISSING = """
DELETE FROM store.damage WHERE kind IN ('missing', 'quarantined');
INSERT INTO store.damage
WITH decided AS (
    SELECT DISTINCT ON (cell) cell, step, key FROM store.decisions
    WHERE key IS NOT NULL AND outcome NOT IN ('failed', 'blocked')
    ORDER BY cell, run_id DESC, position DESC
)
SELECT 'missing', step, key, cell, NULL, 'it is not there' FROM decided
WHERE key NOT IN (SELECT key FROM store.artifacts) AND key NOT IN (SELECT key FROM store.damage);
UPDATE store.damage SET cell = d.cell FROM store.decisions d WHERE d.key = damage.key AND damage.cell = '';
"""
_SET_ASIDE = """
INSERT INTO store.damage
SELECT 'quarantined', $1, $2, $3, NULL, 'it was damaged and is set aside'
WHERE $2 NOT IN (SELECT key FROM store.artifacts) AND $2 NOT IN (SELECT key FROM store.damage)
    AND $3 NOT IN (SELECT cell FROM store.cells)
"""


def damage_row(kind: str, step: str, key: str, problem: str, *, cell: str = "", stamp: int = 0) -> dict[str, Any]:
    """Return a row of the table of damage."""
    return {"kind": kind, "step": step, "key": key, "cell": cell, "stamp": stamp, "problem": problem}


def file_rows(manifest: Manifest) -> list[dict[str, Any]]:
    """Return the files of an artifact that a view reads."""
    if manifest.step not in FILE_STEPS:
        return []
    return [
        {"key": manifest.key, "step": manifest.step, "cell": manifest.cell, "path": file.path, "sha256": file.sha256}
        for file in manifest.files
    ]


def add_missing(connection: "DuckDBPyConnection", store: Store) -> None:
    """Note artifacts that runs have made and that are not there, and those set aside that are in no record."""
    connection.execute(_MISSING)
    for key, manifest in store.aside():
        if manifest is not None:
            step, cell = manifest.step, manifest.cell
        else:
            decided = connection.execute("SELECT step, cell FROM store.decisions WHERE key = ?", [key]).fetchone()
            step, cell = decided or ("", "")
        connection.execute(_SET_ASIDE, [step, key, cell])


def has_files_of_each_step(connection: "DuckDBPyConnection", home: Home) -> bool:
    """Whether there is a file of each step whose manifests name some."""
    steps = connection.execute("SELECT DISTINCT step FROM store.files").fetchall()
    return all(any((home.objects / step).glob("*.parquet")) for (step,) in steps)
