import numpy as np
import pytest

from dat_lib.methods.group_prompt import GroupPrompt
from dat_lib.methods.support.contract import Problem, run_method


def problem(seed=0, n=60, n_classes=2, n_attributes=2, d=8):
    rng = np.random.default_rng(seed)
    return Problem(
        queries=rng.normal(size=(n, d)).astype(np.float32),
        text={"group": rng.normal(size=(n_classes, n_attributes, d)).astype(np.float32) * 3},
        n_classes=n_classes,
        n_attributes=n_attributes,
        query_ids=np.array([f"q{i}" for i in range(n)]),
    )


def best_group(query, group_text):
    cosines = {
        (y, a): query @ group_text[y, a] / np.linalg.norm(group_text[y, a])
        for y in range(group_text.shape[0])
        for a in range(group_text.shape[1])
    }
    return max(cosines, key=cosines.get)


@pytest.mark.parametrize(("n_classes", "n_attributes"), [(2, 2), (5, 3), (3, 1)])
def test_predicts_the_class_of_the_best_group(n_classes, n_attributes):
    given = problem(n_classes=n_classes, n_attributes=n_attributes)
    labels = run_method(GroupPrompt(), given).labels
    assert [best_group(query, given.text["group"])[0] for query in given.queries] == labels.tolist()


def test_the_roboshot_slip_hides_the_fourth_group():
    given = problem(n=300)
    with_slip = run_method(GroupPrompt(roboshot_bug=True), given)
    slipped = given.text["group"].copy()
    slipped[1, 1] = slipped[0, 1]
    assert [best_group(query, slipped)[0] for query in given.queries] == with_slip.labels.tolist()
    assert with_slip.notes == {"roboshot_bug": True}
    assert (with_slip.labels != run_method(GroupPrompt(), given).labels).any()


def test_the_roboshot_slip_does_not_touch_the_prompts_given():
    given = problem()
    before = given.text["group"].copy()
    run_method(GroupPrompt(roboshot_bug=True), given)
    np.testing.assert_array_equal(given.text["group"], before)


def test_the_roboshot_slip_exists_for_two_by_two_groups_only():
    with pytest.raises(ValueError, match="2 x 2"):
        run_method(GroupPrompt(roboshot_bug=True), problem(n_classes=3))
