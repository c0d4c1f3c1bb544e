import numpy as np
import pytest

from dat_lib.density.densities import slof
from dat_lib.theory.groups import RARITY, kent_groups, sparsity


def test_groups_are_in_order_with_rare_ones_less_concentrated():
    world = kent_groups(3, dim=12, classes=3, attributes=2, ellipticity=0.4)
    assert world.shape == (3, 2)
    assert len(world.groups) == 6
    kappa = np.array([group.kappa for group in world.groups]).reshape(3, 2)
    usual = np.array([[True, False], [False, True], [True, False]])
    np.testing.assert_allclose(kappa, np.where(usual, 11 / 0.36, 11 / 0.36 / RARITY))
    assert all(group.beta == pytest.approx(0.2 * group.kappa) for group in world.groups)
    np.testing.assert_allclose(np.linalg.norm(world.prompts, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(world.class_text, axis=1), 1)


def test_a_prompt_leans_towards_the_usual_attribute_of_its_class():
    straight, leaning = (kent_groups(0, dim=12, lean=lean) for lean in (0.0, 2.0))
    means = np.stack([group.axes[0] for group in straight.groups]).reshape(2, 2, 12)
    np.testing.assert_allclose(straight.group_text, means)
    towards = means[:, 1].sum(axis=0) - means[:, 0].sum(axis=0)
    moved = (leaning.group_text - straight.group_text) @ towards
    assert (moved[0] < 0).all()
    assert (moved[1] > 0).all()


def test_queries_and_references_are_repeatable_and_apart():
    world = kent_groups(1, dim=8)
    points, of = world.queries(5)
    assert of.tolist() == [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5
    np.testing.assert_array_equal(points, kent_groups(1, dim=8).queries(5)[0])
    references = np.stack(world.references(5))
    np.testing.assert_array_equal(references, np.stack(world.references(5)))
    assert not np.isin(references, points).any()
    assert not np.array_equal(references, np.stack(world.references(5, repeat=1)))
    assert not np.array_equal(references[:, 0], np.stack(world.references(6))[:, 0])


def test_sparsity_is_the_logarithm_of_slof_group_by_group():
    world = kent_groups(1, dim=8)
    points, _ = world.queries(6)
    references = world.references(20)
    expected = np.stack([np.log(slof(points, group, 4)) for group in references], axis=1)
    np.testing.assert_allclose(sparsity(references, points, 4), expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classes": 1, "attributes": 1}, "fewer than 2 groups"),
        ({"dim": 4}, "need dim >= 5, not 4"),
        ({"spread": 0.0}, "spread must be positive"),
        ({"ellipticity": 1.0}, "ellipticity must lie in"),
    ],
)
def test_worlds_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        kent_groups(**arguments)
