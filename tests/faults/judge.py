"""The judge: after any fault the same must hold."""

from collections.abc import Mapping

from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.planning.planner import Planner
from data_catalog.store.artifacts import Store
from data_catalog.store.garbage import collect
from data_catalog.store.verification import verify
from flows.request import Request, resolve
from tests.data_catalog.worlds import held_locks, leftovers
from tests.faults.fault import Deed
from tests.faults.world import World, committed, current, results, temporary_of


def judge(world: World, home: Home, deed: Deed) -> list[str]:
    """Return what is wrong with a home after a fault.

    Everything visible verifies, no lock is held, a rerun completes and computes just what is missing, contents and
    results equal those of an undisturbed run, nothing that was committed is lost, the rerun leaves neither temporary
    files nor lock files of dead processes, and nothing is left that garbage collection does not know.
    """
    damaged = verify(Store(home)).damaged
    complaints = [f"visible and damaged: {damage.file} ({damage.problem})" for damage in damaged]
    complaints += [f"nobody runs, and {path.name} is held" for path in held_locks(home)]
    lost = deed.kept.items() - committed(home).items()
    complaints += [f"lost: {step} {key[:12]}" for (step, key), _ in sorted(lost)]
    there = _up_to_date(world, home)
    rerun = world.dat(home, *world.words)
    if failures := rerun.complaints(0):
        return [*complaints, *(f"the rerun: {failure}" for failure in failures)]
    left = [*home.locks.rglob("*.lock"), *temporary_of(home).rglob("*")]
    complaints += [f"left behind after the rerun: {path.relative_to(home.root.parent)}" for path in left]
    outcomes = rerun.outcomes()
    if outcomes.get("up to date", 0) < len(there) or sum(outcomes.values()) != len(world.expected):
        complaints.append(f"{len(there)} cells were up to date, and the rerun says {outcomes}")
    return complaints + _unlike_undisturbed(world, home, {**deed.kept, **deed.must_be_back})


def _up_to_date(world: World, home: Home) -> set[str]:
    """Return the cells of the suite that need not be computed."""
    cells = resolve(Request(world.suite), home).cells
    return {decision.cell.name for decision in Planner(Store(home)).plan(cells) if decision.action == "up to date"}


def _unlike_undisturbed(world: World, home: Home, kept: Mapping[tuple[str, str], str]) -> list[str]:
    complaints = []
    found = current(home)
    if found != world.expected:
        differing = sorted(set(found.items()) ^ set(world.expected.items()))
        complaints.append(f"contents differ from the undisturbed run's: {differing[:6]}")
    if results(home) != world.results:
        complaints.append("results differ from the undisturbed run's")
    if kept.items() - committed(home).items():
        complaints.append("the rerun lost what was committed")
    if _up_to_date(world, home) != world.expected.keys():
        complaints.append("something is stale after the rerun")
    index = query(home, "SELECT 1").index
    if index != "file":
        complaints.append(f"the index does not serve after the rerun: {index}")
    collect(home, ["orphans"], apply=True)
    if left := leftovers(home):
        complaints.append(f"left behind after collection: {sorted(left)[:6]}")
    complaints += [f"damaged after the rerun: {damage.file}" for damage in verify(Store(home)).damaged]
    return complaints
