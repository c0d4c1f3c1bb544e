"""No two cells share a GPU unless they are allowed to. A lock needs no GPU, so none is needed here."""

import threading
import time

import pytest

from data_catalog.home import Home
from tasks.engine.gpu_slots import gpu_slots


@pytest.fixture(autouse=True)
def _prepared(home: Home) -> None:
    home.prepare()


def most_at_once(home: Home, devices: list[str], slots: int) -> int:
    """How many of the holders were inside at the same time, at most."""
    inside, most, guard = 0, 0, threading.Lock()

    def work(device: str) -> None:
        nonlocal inside, most
        with gpu_slots(home, device, slots):
            with guard:
                inside += 1
                most = max(most, inside)
            time.sleep(0.2)
            with guard:
                inside -= 1

    threads = [threading.Thread(target=work, args=(device,)) for device in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    return most


@pytest.mark.parametrize(
    ("devices", "slots", "expected"),
    [
        (["cuda:0"] * 3, 1, 1),
        (["cuda", "cuda:0"], 1, 1),
        (["cuda:0,cuda:1", "cuda:1", "cuda:1,cuda:0"], 1, 1),
        (["cuda:0", "cuda:1"], 1, 2),
        (["cuda:0"] * 3, 2, 2),
        (["cpu"] * 3, 1, 3),
    ],
)
def test_as_many_share_a_gpu_as_there_are_slots(home: Home, devices: list[str], slots: int, expected: int) -> None:
    assert most_at_once(home, devices, slots) == expected


def test_a_slot_is_free_again_after_a_failure(home: Home) -> None:
    with pytest.raises(ValueError, match="broken"), gpu_slots(home, "cuda:0"):
        raise ValueError("broken")
    with gpu_slots(home, "cuda:0"):
        pass
