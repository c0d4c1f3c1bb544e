"""Whose turn it is on a GPU."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from filelock import Timeout

from data_catalog.errors import explained
from data_catalog.home import Home
from data_catalog.store.locking import lock
from tasks.engine.devices import chosen_devices

_LOOK_AGAIN_SECONDS = 0.5


@contextmanager
def gpu_slots(home: Home, wanted: str, slots: int = 1) -> Iterator[None]:
    """Hold a slot on each GPU that `wanted` names, so that no more than `slots` cells share one unasked.

    Slots are lock files named by host and GPU: they hold between threads, processes and runs of one `DAT_HOME`, and
    free themselves when their holder dies. Processors need none.
    """
    gpus = sorted(device for device in chosen_devices(wanted) if device.partition(":")[0] == "cuda")
    with ExitStack() as held:
        for gpu in gpus:  # in the same order for everybody, so that no two wait for each other
            held.enter_context(_slot(home, gpu if ":" in gpu else f"{gpu}:0", slots))
        yield


@contextmanager
def _slot(home: Home, gpu: str, slots: int) -> Iterator[None]:
    folder = home.locks / "gpus"
    with explained(folder):
        folder.mkdir(exist_ok=True)
    names = [f"{socket.gethostname()}-{gpu.replace(':', '-')}-{number}.lock" for number in range(slots)]
    while True:
        for name in names:
            with ExitStack() as attempt:
                try:
                    attempt.enter_context(lock(folder / name, wait=0))
                except Timeout:
                    continue
                yield
                return
        time.sleep(_LOOK_AGAIN_SECONDS)
