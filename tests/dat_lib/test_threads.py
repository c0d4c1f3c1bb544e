import threading
import time

import numpy as np
import pytest
import torch

from dat_lib.density.densities import GroupDensity
from dat_lib.density.threads import in_threads


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_every_item_is_done_once(threads):
    done, lock = [], threading.Lock()

    def work(mine):
        with lock:
            done.extend(mine)

    in_threads(work, range(0, 50, 10), threads=threads)
    assert sorted(done) == [0, 10, 20, 30, 40]


def test_a_thread_that_is_done_takes_what_is_left_while_another_is_held_up():
    done, go_on = {}, threading.Event()

    def work(mine):
        ours = []
        for item in mine:
            ours.append(item)
            if item == 0:
                assert go_on.wait(timeout=60)
            elif item == 7:
                go_on.set()
        done[threading.current_thread()] = ours

    in_threads(work, range(8), threads=2)
    assert sorted(done.values()) == [[0], [1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize("which", [0, 1])
def test_after_an_error_nothing_new_is_begun(which):
    begun, failed = [], threading.Event()

    def work(mine):
        for item in mine:
            begun.append(item)
            if item == which:
                failed.set()
                raise ZeroDivisionError
            failed.wait(timeout=60)
            time.sleep(0.01)

    with pytest.raises(ZeroDivisionError):
        in_threads(work, range(10_000), threads=2)
    assert len(begun) < 1_000


def test_a_single_thread_is_the_callers():
    where = []
    in_threads(lambda mine: where.append(threading.current_thread()), range(9), threads=1)
    in_threads(lambda mine: where.append(threading.current_thread()), range(1), threads=8)
    assert set(where) == {threading.current_thread()}


def test_threads_do_not_share_operations_and_leave_the_setting_as_it_was(torch_threads):
    torch_threads(3)
    inside = []
    in_threads(lambda mine: inside.append(torch.get_num_threads()), range(4), threads=2)
    assert inside == [1, 1]
    assert torch.get_num_threads() == 3
    later = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [3]


def test_an_error_in_a_thread_reaches_the_caller(torch_threads):
    torch_threads(2)

    def work(mine):
        raise ZeroDivisionError(mine)

    with pytest.raises(ZeroDivisionError):
        in_threads(work, range(4))
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("density", ["slof", "dao"])
def test_densities_are_the_same_bits_in_any_number_of_threads(density, torch_threads):
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(20, 769)).astype(np.float32) for _ in range(5)]
    queries = rng.normal(size=(700, 769)).astype(np.float32)
    found = []
    for threads in (1, 2, 5):
        torch_threads(threads)
        found.append(GroupDensity(groups, (3, 7), density=density).log_density(queries))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
