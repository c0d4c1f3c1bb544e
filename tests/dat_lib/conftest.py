"""What several tests of the library use."""

from collections.abc import Callable, Iterator

import pytest
import torch


@pytest.fixture
def torch_threads() -> Iterator[Callable[[int], None]]:
    """Set the number of threads that torch uses; afterwards it is as before."""
    usual = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(usual)
