"""Work in as many threads as torch may use, each on a core of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


def in_threads(work: Callable[[range], None], items: range, *, threads: int | None = None) -> None:
    """Share `items` out among threads (by default as many as torch uses) that each call `work` on their part.

    Threads that share every small operation of torch wait for each other thousands of times a second, which on a
    busy machine costs far more than the operations. Threads that share the work at large hardly ever wait. With
    one thread, or one item, `work` runs in the calling thread, where torch uses its own threads.
    """
    import torch

    usual = torch.get_num_threads()
    count = min(usual if threads is None else threads, len(items))
    if count <= 1:
        work(items)
        return
    try:
        with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for future in [pool.submit(work, items[thread::count]) for thread in range(count)]:
                future.result()
    finally:
        # What a thread sets for itself also becomes the default of threads that start later.
        torch.set_num_threads(usual)


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
