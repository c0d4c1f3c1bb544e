"""Work in as many threads as torch may use, each on a core of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress


def in_threads(work: Callable[[Iterable[int]], None], items: range, *, threads: int | None = None) -> None:
    """Have threads (by default as many as torch uses) call `work`, each with an iterator over the items it is to do.

    A thread takes the next item when it is done with one, so that none waits for a thread whose core was busy with
    something else. Threads that share every small operation of torch wait for each other thousands of times a second,
    which on a busy machine costs far more than the operations. With one thread, or one item, `work` runs in the calling
    thread, where torch uses its own threads.
    """
    import torch

    usual = torch.get_num_threads()
    count = min(usual if threads is None else threads, len(items))
    if count <= 1:
        work(items)
        return
    left = deque(items)
    try:
        with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            futures = [pool.submit(work, _taken_from(left)) for _ in range(count)]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                left.clear()  # after a failure or Ctrl-C the others finish the item they are at, and end
            for future in futures:
                future.result()
    finally:
        # What a thread sets for itself also becomes the default of threads that start later.
        torch.set_num_threads(usual)


def _taken_from(left: deque[int]) -> Iterator[int]:
    with suppress(IndexError):
        while True:
            yield left.popleft()


@contextmanager
def one_thread() -> Iterator[None]:
    """Have the operations of torch in this thread be done by it alone."""
    import torch

    usual = torch.get_num_threads()
    if usual == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)
