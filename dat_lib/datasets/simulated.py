"""The simulated world as a dataset: no file, no download."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dat_lib.arrays import FloatArray
from dat_lib.datasets.registry import DatasetKind
from dat_lib.datasets.source import DataError, Samples
from dat_lib.toyworld.simulation import SimulatedWorld, simulate

KIND = DatasetKind("simulated", gives="embeddings")


class SimulatedSource:
    """Embeddings drawn by `dat_lib.toyworld.simulation.simulate`."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world

    def samples(self) -> Samples:
        """Return all samples of all splits."""
        world = self._world
        return Samples(world.sample_ids, world.split, world.labels, world.attributes)

    def images(self) -> FloatArray:
        """Return [P, d] raw image embeddings, in the order of the samples."""
        return self._world.embeddings

    def texts(self, prompts: Sequence[str]) -> FloatArray:
        """Return the vectors of prompts that the world has; a `DataError` names the first it has not."""
        vectors = self._world.prompt_vectors
        for prompt in prompts:
            if prompt not in vectors:
                raise DataError(f'the simulated world has no vector for "{prompt}"; it has: {", ".join(vectors)}')
        return np.stack([vectors[prompt] for prompt in prompts])


def open_source(**settings: Any) -> SimulatedSource:
    """Draw the world with the given arguments of `simulate`."""
    return SimulatedSource(simulate(**settings))
