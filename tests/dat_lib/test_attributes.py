import numpy as np
import pytest

from dat_lib.attributes import infer_attributes
from tests.dat_lib.literal import unit


def test_the_nearest_prompt_and_its_lead_over_the_next():
    rng = np.random.default_rng(0)
    images, prompts = rng.normal(size=(50, 7)) * 4, rng.normal(size=(5, 7)) * 9
    found = infer_attributes(images, prompts)
    for i, image in enumerate(unit(images)):
        cosines = sorted(((float(image @ prompt), a) for a, prompt in enumerate(unit(prompts))), reverse=True)
        assert found.attributes[i] == cosines[0][1]
        assert found.margin[i] == pytest.approx(cosines[0][0] - cosines[1][0])


def test_ties_go_to_the_first_attribute():
    found = infer_attributes(np.eye(3, dtype=np.float32), np.array([[1.0, 1, 0], [1, 1, 0], [0, 1, 1]]))
    assert found.attributes.tolist() == [0, 0, 2]
    assert found.margin[0] == 0


def test_one_attribute_leads_without_bound():
    found = infer_attributes(np.eye(3), np.ones((1, 3)))
    assert found.attributes.tolist() == [0, 0, 0]
    assert np.isinf(found.margin).all()


def test_dimensions_must_agree():
    with pytest.raises(ValueError, match="attribute_text has vectors of dimension 4 where 3 is needed"):
        infer_attributes(np.eye(3), np.ones((2, 4)))
