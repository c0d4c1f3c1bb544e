"""The fault campaign in short: each fault once. `make soak` is the long form."""

import os
import random
from collections.abc import Iterator

import pytest

from tests.faults.campaign import QUICK, a_world, attempt
from tests.faults.fault import CannotTryError
from tests.faults.world import World

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

# The same faults on every run of a change's checks; new ones whenever a person runs the tests.
SEED = 1 if os.environ.get("CI") else random.randrange(10**6)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with a_world() as world:
        world.many, world.pause = 8, 1.0
        yield world


@pytest.mark.parametrize("fault", [*QUICK, "runs-in-one-process"])
def test_a_fault_does_no_harm(world: World, fault: str) -> None:
    try:
        trial = attempt(world, fault, SEED)
    except CannotTryError as reason:
        pytest.skip(str(reason))
    complaints = "\n".join(trial.complaints)
    assert not complaints, f"{trial.what}\n{complaints}\nto try it again: {trial.command}"
