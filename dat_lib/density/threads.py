"""Work in as many threads as torch may use, each on a core of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager


def in_threads(work: Callable[[Iterable[int]], None], items: range, *, threads: int | None = None) -> None:
    """Have threads (by default as many as torch uses) call `work`, each with an iterator that hands it items to do.

    A thread gets neighbouring items, and when it is done with its own, the last of whoever has most left, so that none
    waits for one whose core was busy with something else. Threads that share every small operation of torch wait for
    each other thousands of times a second, which on a busy machine costs far more than the operations. With one
    thread, or one item, `work` runs in the calling thread, where torch uses its own threads.
    """
    import torch

    usual = torch.get_num_threads()
    count = min(usual if threads is None else threads, len(items))
    if count <= 1:
        work(items)
        return
    shares = [deque(items[len(items) * i // count : len(items) * (i + 1) // count]) for i in range(count)]
    try:
        with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            futures = [pool.submit(work, _handed_out(share, shares)) for share in shares]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                for share in shares:  # after a failure or Ctrl-C the others end with what they are at
                    share.clear()
            for future in futures:
                future.result()
    finally:
        # What a thread sets for itself also becomes the default of threads that start later.
        torch.set_num_threads(usual)


def _handed_out(own: deque[int], shares: list[deque[int]]) -> Iterator[int]:
    """Items of one's own share from its beginning, then of others from their ends."""
    while True:
        try:
            item = own.popleft()
        except IndexError:
            break
        yield item
    while any(shares):
        try:
            item = max(shares, key=len).pop()
        except IndexError:  # another thread has just taken the last
            continue
        yield item


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
