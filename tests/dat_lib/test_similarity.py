import numpy as np
import pytest

from dat_lib.similarity import cosines
from tests.dat_lib.literal import unit


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-12)])
@pytest.mark.parametrize("shape", [(2,), (3, 4), (1, 1, 5)])
def test_cosines_of_raw_vectors(dtype, tolerance, shape):
    rng = np.random.default_rng(0)
    images = (rng.normal(size=(70, 20)) * 6).astype(dtype)
    prompts = rng.normal(size=(*shape, 20)).astype(np.float32)
    found = cosines(images, prompts)
    assert found.dtype == dtype
    assert found.shape == (70, *shape)
    np.testing.assert_allclose(found, np.tensordot(unit(images), unit(prompts), (1, -1)), atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_image_gets_the_same_bits_in_any_block(dtype):
    rng = np.random.default_rng(0)
    images, prompts = rng.normal(size=(5000, 769)).astype(dtype), rng.normal(size=(2, 3, 769))
    whole = cosines(images, prompts)
    for step in (1, 31, 48, 1000):
        shown = images[: 10 * step]
        parts = [cosines(shown[i : i + step], prompts) for i in range(0, len(shown), step)]
        np.testing.assert_array_equal(np.concatenate(parts), whole[: len(shown)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_how_vectors_lie_in_memory_changes_no_bit(dtype):
    rng = np.random.default_rng(0)
    images, prompts = rng.normal(size=(50, 300)).astype(dtype), rng.normal(size=(5, 300)).astype(dtype)
    shifted = np.empty(images.size + 1, dtype)[1:].reshape(images.shape)
    shifted[:] = images
    for same in (np.asfortranarray(images), shifted, np.repeat(images, 2, axis=0)[::2]):
        np.testing.assert_array_equal(cosines(same, np.asfortranarray(prompts)), cosines(images, prompts))
