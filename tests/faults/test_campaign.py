"""The fault campaign in short: each fault once. `make soak` is the long form."""

from collections.abc import Iterator

import pytest

from tests.faults.campaign import QUICK, a_world, attempt
from tests.faults.fault import CannotTryError, Deed
from tests.faults.judge import judge
from tests.faults.world import World, temporary_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

LEFT_OUT = ("killed-report", "two-runs", "slow-folder", "damaged-log", "edited-images")
"""Like others that are tried, and left to the long form for the time they take."""
TRIES = 5
"""A fault may miss: then the next one is tried."""
SEED = 1
"""Tests try the same faults each time; `make soak` draws its own."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with a_world() as world:
        world.many, world.pause = 8, 1.0
        yield world


@pytest.mark.parametrize("fault", [*(name for name in QUICK if name not in LEFT_OUT), "runs-in-one-process"])
def test_a_fault_does_no_harm(world: World, fault: str) -> None:
    for seed in range(SEED, SEED + TRIES):
        try:
            trial = attempt(world, fault, seed)
        except CannotTryError as reason:
            pytest.skip(str(reason))
        complaints = "\n".join(trial.complaints)
        assert not complaints, f"{trial.what}\n{complaints}\nto try it again: {trial.command}"
        if trial.survived:
            return
    raise AssertionError(f"no fault took effect, from --seed {SEED} on")


def test_the_judge_sees_what_is_damaged_lost_left_behind_or_different(world: World) -> None:
    world.prepare()
    home, deed = world.fresh_home("judged"), Deed()
    world.fill(home)
    deed.keep(home)
    assert judge(world, home, deed) == []
    flipped = next(home.objects.glob("references/*"))
    flipped.write_bytes(bytes(flipped.stat().st_size))
    next(home.manifests.glob("predictions/*")).unlink()
    (home.root / ".unknown").touch()
    (temporary_of(home) / "pymp-x").mkdir(parents=True)
    world.results.append(("one more",))
    try:
        complaints = "\n".join(judge(world, home, deed))
    finally:
        world.results.pop()
    assert "visible and damaged: objects/references" in complaints
    assert "lost: predictions" in complaints
    assert "left behind after the rerun: t/pymp-x" in complaints
    assert "results differ" in complaints
    assert "left behind after collection: ['.unknown']" in complaints
