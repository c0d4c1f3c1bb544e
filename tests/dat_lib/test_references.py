import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.herding import herd
from dat_lib.references import DroppedGroup, corrupt_groups, corrupt_references, select_references
from tests.dat_lib.literal import unit


def pool(sizes, dim=6, seed=0):
    """Embeddings, labels and attributes with `sizes[y][a]` samples a group, shuffled."""
    rng = np.random.default_rng(seed)
    groups = [(y, a) for y, row in enumerate(sizes) for a, size in enumerate(row) for _ in range(size)]
    labels, attributes = np.transpose(rng.permutation(groups))
    return rng.normal(size=(len(groups), dim)) * 5, labels, attributes


def select(sizes, **settings):
    chosen = {"n": 5, "k": 2, "n_classes": len(sizes), "n_attributes": len(sizes[0]), **settings}
    return select_references(*pool(sizes), **chosen)


def test_each_group_gets_its_herded_samples_normalised():
    embeddings, labels, attributes = pool([[9, 7], [5, 20]])
    found = select([[9, 7], [5, 20]])
    assert found.groups == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert found.dropped == ()
    for y, a in found.groups:
        members = np.flatnonzero((labels == y) & (attributes == a))
        rows = found.rows(y, a)
        assert found.positions[rows].tolist() == members[herd(unit(embeddings[members]), 5)].tolist()
        np.testing.assert_allclose(found.vectors[rows], unit(embeddings[found.positions[rows]]))


def test_a_group_one_sample_short_is_dropped_and_said_so():
    found = select([[9, 4], [5, 20]])
    assert found.groups == [(0, 0), (1, 0), (1, 1)]
    assert found.dropped == (DroppedGroup(0, 1, have=4, need=5),)
    assert str(found.dropped[0]) == "(0, 1) has 4 of 5"


def test_short_groups_are_used_as_long_as_they_exceed_the_neighbours():
    found = select([[9, 4], [3, 2]], shortage="use")
    assert {group: len(found.rows(*group)) for group in found.groups} == {(0, 0): 5, (0, 1): 4, (1, 0): 3}
    assert found.dropped == (DroppedGroup(1, 1, have=2, need=3),)


@pytest.mark.parametrize("shortage", ["drop", "use"])
@pytest.mark.parametrize(("n", "k"), [(1, 0), (5, 2), (6, 5), (12, 3), (20, 11)])
def test_the_first_of_a_larger_herded_set_are_those_herded_for_n(n, k, shortage):
    sizes = [[30, 4], [12, 0]]
    larger = select(sizes, n=25, k=0, shortage="use", sample_ids=np.array([f"s{i}" for i in range(46)]))
    found, expected = larger.first(n, k, shortage), select(sizes, n=n, k=k, shortage=shortage)
    np.testing.assert_array_equal(found.positions, expected.positions)
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.attributes, expected.attributes)
    assert found.dropped == expected.dropped
    assert found.ids.tolist() == [f"s{position}" for position in expected.positions]


def test_ranks_count_the_order_of_selection():
    found = select([[9, 4], [5, 20]], shortage="use")
    assert {group: found.ranks[found.rows(*group)].tolist() for group in found.groups} == {
        (0, 0): [0, 1, 2, 3, 4],
        (0, 1): [0, 1, 2, 3],
        (1, 0): [0, 1, 2, 3, 4],
        (1, 1): [0, 1, 2, 3, 4],
    }


def test_an_attribute_absent_from_a_class_is_a_group_of_none():
    found = select([[9, 0], [5, 20]])
    assert found.dropped == (DroppedGroup(0, 1, have=0, need=5),)


def test_samples_without_an_attribute_belong_to_no_group():
    embeddings, labels, attributes = pool([[9, 9], [9, 9]])
    attributes = np.where((labels == 0) & (attributes == 1), -1, attributes)
    found = select_references(embeddings, labels, attributes, n=5, k=2, n_classes=2, n_attributes=2)
    assert found.groups == [(0, 0), (1, 0), (1, 1)]


def test_all_groups_may_be_dropped():
    found = select([[1, 1], [1, 1]])
    assert found.groups == []
    assert found.vectors.shape == (0, 6)
    assert len(found.dropped) == 4


def test_random_references_depend_on_the_seed_and_not_on_other_groups():
    first, again, other = (
        select([[9, 7], [6, 20]], sampling="random", seed=seed).positions.tolist() for seed in (1, 1, 2)
    )
    assert first == again != other
    embeddings, labels, attributes = pool([[9, 7], [6, 20]])
    kept = (labels == 1) | (attributes == 1)
    fewer = select_references(
        embeddings[kept],
        labels[kept],
        attributes[kept],
        n=5,
        k=2,
        n_classes=2,
        n_attributes=2,
        sampling="random",
        seed=1,
    )
    assert np.flatnonzero(kept)[fewer.positions].tolist() == first[5:]


def test_random_references_are_drawn_for_each_group_by_itself():
    """Where groups are stored alike, the same draw for all would choose the same places in each."""
    _, labels, attributes = pool([[40, 40], [40, 40]])
    found = select([[40, 40], [40, 40]], n=8, sampling="random", seed=1)
    drawn = []
    for y, a in found.groups:
        members = np.flatnonzero((labels == y) & (attributes == a))
        drawn.append(tuple(np.searchsorted(members, found.positions[found.rows(y, a)])))
    assert len(set(drawn)) == 4


def test_ids_follow_their_samples():
    embeddings, labels, attributes = pool([[9, 7]])
    ids = np.array([f"s{i}" for i in range(16)])
    found = select_references(embeddings, labels, attributes, n=5, k=2, n_classes=1, n_attributes=2, sample_ids=ids)
    assert found.ids.tolist() == [f"s{i}" for i in found.positions]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 5, "k": 5}, "k=5 neighbours need more than k references per group, but n=5"),
        ({"shortage": "pad"}, "shortage must be one of drop, use, not 'pad'"),
        ({"sampling": "kmeans"}, "sampling must be one of herding, random, not 'kmeans'"),
        ({"n_classes": 1}, "labels must lie in 0..0, but holds 1"),
        ({"n_attributes": 1}, "attributes must lie in 0..0, but holds 1"),
    ],
)
def test_what_cannot_be_selected_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        select([[9, 7], [5, 20]], **changes)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 999), rate=st.floats(0, 1), size=st.integers(1, 80))
def test_corruption_moves_the_share_it_says(seed, rate, size):
    rng = np.random.default_rng(seed)
    labels, attributes = rng.integers(3, size=size), rng.integers(2, size=size)
    options = {"rate": rate, "seed": seed, "n_classes": 3, "n_attributes": 2}
    moved_labels, moved_attributes = corrupt_groups(labels, attributes, **options)
    assert ((moved_labels != labels) | (moved_attributes != attributes)).sum() == round(rate * size)
    assert moved_labels.min() >= 0
    assert moved_labels.max() < 3
    assert set(moved_attributes) <= {0, 1}
    again = corrupt_groups(labels, attributes, **options)
    assert np.array_equal(again, [moved_labels, moved_attributes])


def test_corruption_leaves_samples_of_no_group_alone():
    labels, attributes = corrupt_groups([0, 1, 0], [-1, -1, 1], rate=1.0, seed=0, n_classes=2, n_attributes=2)
    assert labels[:2].tolist() == [0, 1]
    assert attributes[:2].tolist() == [-1, -1]
    assert (labels[2], attributes[2]) != (0, 1)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 999), rate=st.sampled_from([0.0, 0.05, 0.15, 0.5, 1.0]), n=st.integers(3, 20))
def test_references_change_places_and_groups_keep_their_sizes(seed, rate, n):
    clean = select([[40, 30], [25, 22]], n=n)
    _, labels, attributes = pool([[40, 30], [25, 22]])
    found = corrupt_references(clean, rate=rate, seed=seed)
    assert np.array_equal(found.labels, clean.labels)
    assert sorted(found.positions) == sorted(clean.positions)
    truth = np.transpose([labels[found.positions], attributes[found.positions]])
    wrong = (truth != np.transpose([found.labels, found.attributes])).any(axis=1)
    for group in found.groups:
        assert wrong[found.rows(*group)].sum() == round(rate * n)


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_is_a_share(rate):
    with pytest.raises(ValueError, match=r"rate must lie in \[0, 1\]"):
        corrupt_groups([0], [0], rate=rate, seed=0, n_classes=2, n_attributes=2)
    with pytest.raises(ValueError, match=r"rate must lie in \[0, 1\]"):
        corrupt_references(select([[9, 9]]), rate=rate, seed=0)
