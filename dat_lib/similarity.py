"""Cosines between images and prompts, the same for an image whatever block it comes in."""

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, as_vectors, normalise
from dat_lib.products import COLUMNS, ROWS, round_up

IMAGES_AT_ONCE = 4080


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
    dtype = torch.from_numpy(np.empty(0, images.dtype)).dtype
    table = torch.zeros(round_up(len(unit), ROWS), unit.shape[1], dtype=dtype)
    table[: len(unit)] = torch.from_numpy(unit)
    result = np.empty((len(unit), len(images)), dtype=images.dtype)
    for start in range(0, len(images), IMAGES_AT_ONCE):
        block = normalise(images[start : start + IMAGES_AT_ONCE], images_name)
        padded = np.zeros((round_up(len(block), COLUMNS), block.shape[1]), block.dtype)
        padded[: len(block)] = block
        product = torch.mm(table, torch.from_numpy(padded).T)[: len(unit), : len(block)]
        result[:, start : start + len(block)] = product.numpy()
    return np.moveaxis(result.reshape(*shape, len(images)), -1, 0)
