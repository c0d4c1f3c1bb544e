"""Keeping the store in order as a Prefect flow: verify, collect garbage, rebuild the index, look for drift."""

from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.states import Failed

from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.index.reader import query
from data_catalog.store.artifacts import Store
from data_catalog.store.garbage import SCOPES, collect
from data_catalog.store.verification import verify as verify_store

_LATEST_DRIFT = """
SELECT cell, run_id, difference, wg_change, avg_change
FROM (SELECT DISTINCT ON (cell) * FROM drift ORDER BY cell, run_id DESC)
WHERE drifted ORDER BY abs(wg_change) DESC NULLS LAST, cell
"""


@task(cache_policy=NO_CACHE)
def verify() -> int:
    """Read every artifact again and set aside what is damaged; the next run heals it. Return how many were."""
    found = verify_store(Store(Home.from_environment()))
    rows = [{"cell": damage.cell, "file": damage.file, "problem": damage.problem} for damage in found.damaged]
    create_table_artifact(
        rows, key="damage", description=f"{found.artifacts} artifacts read, {len(found.damaged)} damaged"
    )
    return len(found.damaged)


@task(cache_policy=NO_CACHE)
def collect_garbage(apply: bool) -> int:
    """Find what nobody needs any more, and remove it when told to. Return how many bytes."""
    garbage = collect(Home.from_environment(), list(SCOPES), apply=apply)
    size = sum(item.bytes for item in garbage)
    verb = "removed" if apply else "could go"
    get_run_logger().info("%d files, %d bytes, %s", len(garbage), size, verb)
    return size


@task(cache_policy=NO_CACHE)
def rebuild() -> None:
    """Make the index anew from the manifests and run records."""
    home = Home.from_environment()
    home.prepare()
    update_index(home, anew=True)


@task(cache_policy=NO_CACHE)
def drift() -> int:
    """Show the cells whose last forced rerun differed from what is stored. Return how many."""
    rows = query(Home.from_environment(), _LATEST_DRIFT).records()
    create_table_artifact(rows, key="drift", description=f"{len(rows)} cells differed when last computed again")
    return len(rows)


@flow(name="maintenance")
def maintenance(apply_gc: bool = False) -> Any:
    """Verify, collect garbage, rebuild the index and look for drift, in `DAT_HOME`. Fails when something was damaged.

    Args:
        apply_gc: Remove garbage; otherwise it is only counted.
    """
    damaged = verify()
    size = collect_garbage(apply_gc)
    rebuild()
    drifted = drift()
    if damaged:
        return Failed(message=f"{damaged} artifacts were damaged and are set aside; the next run computes them again")
    return {"garbage_bytes": size, "drifted": drifted}
