import numpy as np
import pytest

from dat_lib.columns import columns
from dat_lib.diagnostics.exemplars import describe_exemplars
from dat_lib.references import select_references
from tests.dat_lib.literal import unit


def world(seed=0, **settings):
    rng = np.random.default_rng(seed)
    embeddings = rng.normal(size=(40, 5)) * 2 + 1
    labels, attributes = np.repeat([0, 0, 1, 1], [12, 8, 3, 17]), np.repeat([0, 1, 0, 1], [12, 8, 3, 17])
    ids = np.array([f"s{i}" for i in range(40)])
    chosen = {"n": 6, "k": 2, "n_classes": 2, "n_attributes": 2, "sample_ids": ids, **settings}
    return select_references(embeddings, labels, attributes, **chosen), embeddings, labels, attributes


def test_every_reference_is_a_row_measured_against_its_group():
    references, embeddings, labels, attributes = world()
    found = describe_exemplars(references, embeddings, labels, attributes)
    table = columns(found)
    assert sorted(set(zip(found.label, found.attribute, strict=True))) == [(0, 0), (0, 1), (1, 1)]
    assert found.order.tolist() == [*range(1, 7)] * 3
    assert len(table["nearest"]) == 18
    for y, a in references.groups:
        rows = np.flatnonzero((found.label == y) & (found.attribute == a))
        pool = unit(embeddings[(labels == y) & (attributes == a)])
        mean = pool.mean(axis=0)
        exemplars = unit(embeddings[found.position[rows]])
        for i, row in enumerate(rows):
            assert found.sample_id[row] == f"s{found.position[row]}"
            assert found.group_size[row] == len(pool)
            assert found.mean_cosine[row] == pytest.approx(exemplars[i] @ unit(mean))
            assert found.mean_distance[row] == pytest.approx(np.linalg.norm(exemplars[: i + 1].mean(axis=0) - mean))
            others = [np.linalg.norm(exemplars[i] - other) for j, other in enumerate(exemplars) if j != i]
            assert found.nearest[row] == pytest.approx(min(others))
            away = np.linalg.norm(exemplars[i] - mean)
            further = np.mean([np.linalg.norm(z - mean) > away + 1e-6 for z in pool])
            assert found.typicality[row] == pytest.approx(further)


def test_the_first_herded_exemplar_is_nearest_to_the_mean():
    references, embeddings, labels, attributes = world(shortage="use")
    found = describe_exemplars(references, embeddings, labels, attributes)
    first = found.order == 1
    np.testing.assert_allclose(found.typicality[first], 1 - 1 / found.group_size[first])
    assert found.group_size[first].tolist() == [12, 8, 3, 17]


def test_without_ids_they_are_empty():
    references, *pool = world(sample_ids=None)
    assert set(describe_exemplars(references, *pool).sample_id) == {""}


def test_a_pool_that_is_not_the_references_own_is_refused():
    references, embeddings, labels, attributes = world()
    with pytest.raises(ValueError, match="a larger pool than 10 samples"):
        describe_exemplars(references, embeddings[:10], labels[:10], attributes[:10])
    with pytest.raises(ValueError, match=r"group \(0, 1\) has references but no samples"):
        describe_exemplars(references, embeddings, labels, np.where(labels == 0, 0, attributes))
    none, *pool = world(n=30, k=2)
    with pytest.raises(ValueError, match="no group has references"):
        describe_exemplars(none, *pool)
