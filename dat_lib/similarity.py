"""Cosines between images and prompts, the same for an image whatever block it comes in."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, as_vectors, normalise
from dat_lib.density.products import COLUMNS, multiply
from dat_lib.density.threads import in_threads


def cosines(
    images: npt.ArrayLike, prompts: npt.ArrayLike, images_name: str = "images", prompts_name: str = "prompts"
) -> FloatArray:
    """Cosines [N, ...] of images [N, d] with prompts [..., d], neither of which need be of unit length.

    The result has the dtype of the images. The names are those that error messages give.
    """
    import torch

    images = as_vectors(images, images_name)
    prompts = as_vectors(prompts, prompts_name, ndim=np.ndim(prompts), dim=images.shape[1])
    shape = prompts.shape[:-1]
    unit = normalise(prompts.astype(np.float64), prompts_name).reshape(-1, prompts.shape[-1])
    table = torch.from_numpy(unit.astype(images.dtype)).clone()
    queries = normalise(images, images_name)
    result = np.empty((len(unit), len(images)), dtype=images.dtype)

    def work(starts: Iterable[int]) -> None:
        for start in starts:
            block = queries[start : start + COLUMNS]
            padded = torch.zeros(COLUMNS, block.shape[1], dtype=table.dtype)
            padded[: len(block)] = torch.from_numpy(block)
            product = multiply(table, padded, out=table.new_empty(len(table), len(padded)))
            result[:, start : start + len(block)] = product[:, : len(block)].numpy()

    in_threads(work, range(0, len(images), COLUMNS))
    return np.moveaxis(result.reshape(*shape, len(images)), -1, 0)
