import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.density import distances, neighbours
from dat_lib.density.densities import GroupDensity, dao, knn_distance, slof
from tests.dat_lib import literal

seeds = st.integers(0, 10_000)

DENSITIES = {
    "slof": (slof, literal.slof),
    "knn": (knn_distance, literal.knn_distance),
    "dao_mle": (dao, lambda *args, **rest: literal.dao(*args, literal.lid_mle, **rest)),
    "dao_mom": (
        lambda *args, **rest: dao(*args, lid="mom", **rest),
        lambda *args, **rest: literal.dao(*args, literal.lid_mom, **rest),
    ),
    "dao_mom_all": (
        lambda *args, **rest: dao(*args, lid="mom_all", **rest),
        lambda *args, **rest: literal.dao(*args, literal.lid_mom_all, **rest),
    ),
}
every_density = pytest.mark.parametrize("name", DENSITIES)


def cloud(seed, rows, dim, dtype=np.float64, offset=0.0):
    return (np.random.default_rng(seed).normal(size=(rows, dim)) + offset).astype(dtype)


def assert_agree(name, found, expected, tolerance):
    """Compare densities; DAO's by their logarithms, since its powers, up to 1e6, magnify any rounding as much."""
    if "dao" in name:
        with np.errstate(divide="ignore"):
            found, expected = np.log(found), np.log(expected)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_allclose(found, expected, rtol=tolerance)


@every_density
@settings(deadline=None, max_examples=25)
@given(seed=seeds, n=st.integers(3, 25), dim=st.sampled_from([1, 2, 5, 70]), data=st.data())
def test_densities_are_the_formulas(name, seed, n, dim, data):
    k = data.draw(st.integers(2, n - 1))
    queries, references = cloud(seed, 7, dim), cloud(seed + 1, n, dim)
    ours, formula = DENSITIES[name]
    expected = [formula(query, references, k) for query in queries]
    assert_agree(name, ours(queries, references, k), expected, 1e-9)


@every_density
@settings(deadline=None, max_examples=25)
@given(seed=seeds, data=st.data())
def test_points_of_a_small_grid_with_many_ties_and_duplicates(name, seed, data):
    rng = np.random.default_rng(seed)
    n = data.draw(st.integers(3, 15))
    k = data.draw(st.integers(2, n - 1))
    queries, references = rng.integers(0, 3, (6, 2)), rng.integers(0, 3, (n, 2))
    ours, formula = DENSITIES[name]
    with np.errstate(over="ignore"):
        expected = [formula(query, references, k) for query in queries.astype(float)]
    assert_agree(name, ours(queries, references, k), expected, 1e-9)


@every_density
@settings(deadline=None, max_examples=15)
@given(seed=seeds, offset=st.sampled_from([0.0, 1.0, 100.0]), dim=st.sampled_from([16, 64, 300]))
def test_float32_is_as_good_as_float64(name, seed, offset, dim):
    queries = cloud(seed, 12, dim, np.float32, offset)
    references = cloud(seed + 1, 30, dim, np.float32, offset)
    ours, formula = DENSITIES[name]
    expected = [formula(query, references, 8) for query in queries]
    assert_agree(name, ours(queries, references, 8), expected, 2e-5 if "dao" in name else 2e-6)


@settings(deadline=None, max_examples=12)
@given(seed=seeds, size=st.sampled_from([0.0, 1e-7, 1e-5, 1e-3]), dtype=st.sampled_from([np.float32, np.float64]))
def test_near_duplicates_do_not_cancel(seed, size, dtype):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(3, 128))
    references = (np.repeat(centres, 8, axis=0) + size * rng.normal(size=(24, 128))).astype(dtype)
    queries = (np.repeat(centres, 4, axis=0) + size * rng.normal(size=(12, 128))).astype(dtype)
    for k in (3, 7):
        for ours, formula in (DENSITIES["slof"], DENSITIES["knn"]):
            expected = [formula(query, references, k) for query in queries]
            np.testing.assert_allclose(ours(queries, references, k), expected, rtol=1e-5)


@settings(deadline=None, max_examples=15)
@given(seed=seeds)
def test_neighbours_that_float32_cannot_tell_apart_are_told_apart(seed):
    # Two references at distances that differ by 1e-7, with very different k-distances of their own.
    rng = np.random.default_rng(seed)
    references = np.zeros((6, 100), np.float32)
    references[0, 0], references[1, 1] = 1.0, 1.0 + 1.2e-7
    references[2:, 2] = [9.0, 9.1, 9.2, 9.3]
    references[:, 3:] = 1e-3 * rng.normal(size=(6, 97))
    query = np.zeros((1, 100), np.float32)
    expected = literal.slof(query[0], references, 1)
    np.testing.assert_allclose(slof(query, references, 1), expected, rtol=1e-5)


def test_slof_of_an_even_grid_is_about_one():
    axis = np.arange(12.0)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    inner = grid[((grid > 2) & (grid < 9)).all(axis=1)]
    ids = np.array([f"{x:.0f},{y:.0f}" for x, y in grid])
    inner_ids = np.array([f"{x:.0f},{y:.0f}" for x, y in inner])
    np.testing.assert_allclose(slof(inner, grid, 8, query_ids=inner_ids, reference_ids=ids), 1.0)
    assert (slof(inner + 0.37, grid, 8) > 0.7).all()
    assert (slof(inner + 0.37, grid, 8) < 1.3).all()


def test_dao_is_slof_where_the_dimension_is_one(monkeypatch):
    import torch

    from dat_lib.density import densities as density

    monkeypatch.setattr(density, "local_dimension", lambda distances, lid: torch.ones(len(distances)).double())
    queries, references = cloud(0, 20, 6), cloud(1, 30, 6)
    np.testing.assert_allclose(dao(queries, references, 5), slof(queries, references, 5))


def test_the_cosine_metric_squares_the_ratio_of_unit_vectors():
    queries, references = literal.unit(cloud(0, 20, 8)), literal.unit(cloud(1, 30, 8))
    half_square = knn_distance(queries, references, 5) ** 2 / 2
    np.testing.assert_allclose(knn_distance(3 * queries, references, 5, metric="cosine"), half_square)
    ratio = [
        np.mean([(kd / literal.reference_k_distance(references, i, 5)) ** 2 for _, i in near])
        for near in (literal.distances_to(query, references)[:5] for query in queries)
        for kd in [near[-1][0]]
    ]
    np.testing.assert_allclose(slof(queries, 7 * references, 5, metric="cosine"), ratio)


def test_duplicates_have_their_distance_floored():
    references = np.zeros((5, 3))
    assert slof(np.ones((1, 3)), references, 2) == pytest.approx(np.sqrt(3) / 1e-12)
    assert slof(np.zeros((1, 3)), references, 2) == 0
    assert knn_distance(np.zeros((1, 3)), references, 2) == 0


@every_density
@settings(deadline=None, max_examples=15)
@given(seed=seeds, dim=st.sampled_from([2, 80]))
def test_a_query_that_is_a_reference_is_not_its_own_neighbour(name, seed, dim):
    references = cloud(seed, 15, dim, np.float32)
    ids = np.array([f"s{i}" for i in range(15)])
    rows = np.random.default_rng(seed).permutation(15)[:6]
    queries = np.concatenate([references[rows], cloud(seed + 1, 3, dim, np.float32)])
    query_ids = np.concatenate([ids[rows], ["t0", "t1", "t2"]])
    ours, formula = DENSITIES[name]
    found = ours(queries, references, 4, query_ids=query_ids, reference_ids=ids)
    left_out = [*rows.tolist(), None, None, None]
    expected = [formula(q, references, 4, leave_out=i) for q, i in zip(queries, left_out, strict=True)]
    assert_agree(name, found, expected, 2e-5)


def test_all_but_one_reference_may_be_neighbours_even_of_a_reference():
    references = cloud(0, 6, 3)
    ids = np.arange(6)
    found = slof(references, references, 5, query_ids=ids, reference_ids=ids)
    expected = [literal.slof(references[i], references, 5, leave_out=i) for i in range(6)]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("density", ["slof", "knn", "dao"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_groups_and_neighbourhoods_of_many_sizes_agree_with_one_by_one(density, dtype):
    groups = [cloud(g, size, 70, dtype) for g, size in enumerate([9, 30, 12, 21, 30])]
    queries = cloud(99, 40, 70, dtype)
    ks = (7, 2, 5)
    together = GroupDensity(groups, ks, density=density).log_density(queries)
    assert together.shape == (3, 40, 5)
    assert together.dtype == dtype
    for i, k in enumerate(ks):
        for g, group in enumerate(groups):
            alone = GroupDensity([group], (k,), density=density).log_density(queries)
            tolerance = 1e-4 if density == "dao" else 1e-6
            np.testing.assert_allclose(together[i, :, g], alone[0, :, 0], atol=tolerance)


@pytest.mark.parametrize("density", ["slof", "knn", "dao"])
@pytest.mark.parametrize(("dtype", "dim"), [(np.float32, 769), (np.float64, 300), (np.float32, 5)])
def test_a_query_gets_the_same_bits_in_any_block(density, dtype, dim, monkeypatch):
    monkeypatch.setattr(neighbours, "TILE_GROUPS", 4)
    groups = [cloud(g, 20 - g, dim, dtype) for g in range(7)]
    queries = cloud(99, 900, dim, dtype)
    queries[::7] = groups[0][0]
    whole = GroupDensity(groups, (3, 8), density=density).log_density(queries)
    for working_memory, steps in ((0.01, (48, 133)), (4, (1, 247, 899))):
        fitted = GroupDensity(groups, (3, 8), density=density, working_memory=working_memory)
        for step in steps:
            shown = slice(0, 5 if step == 1 else None)
            parts = [fitted.log_density(queries[shown][i : i + step]) for i in range(0, len(queries[shown]), step)]
            np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole[:, shown])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_given_is_not_written_over(dtype):
    queries, references = cloud(0, 30, 70, dtype), cloud(1, 20, 70, dtype)
    given = queries.copy(), references.copy()
    slof(queries, references, 4)
    np.testing.assert_array_equal(queries, given[0])
    np.testing.assert_array_equal(references, given[1])


def test_large_reference_sets_need_no_network():
    references, queries = cloud(0, 700, 3), cloud(1, 30, 3)
    expected = [literal.knn_distance(query, references, 400) for query in queries]
    np.testing.assert_allclose(knn_distance(queries, references, 400, working_memory=1), expected)
    np.testing.assert_allclose(
        slof(queries[:2], references, 40, working_memory=1),
        [literal.slof(query, references, 40) for query in queries[:2]],
    )


@pytest.mark.parametrize("pairs", [1, 100_000])
def test_large_reference_sets_are_measured_a_few_rows_at_a_time(pairs, monkeypatch):
    references, queries = cloud(0, 700, 3), cloud(1, 2, 3)
    monkeypatch.setattr(distances, "LARGEST_TABLE", pairs)
    expected = [literal.slof(query, references, 40) for query in queries]
    np.testing.assert_allclose(slof(queries, references, 40), expected)


@pytest.mark.parametrize("scale", [1e-9, 1e25])
def test_any_unit_of_length_will_do(scale):
    queries, references = cloud(0, 10, 70, np.float32), cloud(1, 20, 70, np.float32)
    scaled = slof(queries * np.float32(scale), references * np.float32(scale), 4)
    np.testing.assert_allclose(scaled, slof(queries, references, 4), rtol=1e-5)


def test_far_queries_are_measured_well():
    references = cloud(1, 20, 70, np.float32)
    queries = cloud(0, 5, 70, np.float32) * 1e6
    expected = [literal.slof(query, references, 4) for query in queries]
    np.testing.assert_allclose(slof(queries, references, 4), expected, rtol=1e-5)


def test_no_queries_give_no_densities():
    assert slof(np.empty((0, 3)), np.eye(3), 1).shape == (0,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 5}, "k=5 needs at least 6 references, but there are 5"),
        ({"k": 7}, "k=7 needs at least 8 references, but there are 5"),
        ({"k": 0}, "k must be at least 1 for slof, not 0"),
        ({"metric": "manhattan"}, "metric must be one of euclidean, cosine, not 'manhattan'"),
        ({"queries": np.ones((2, 4))}, "queries has vectors of dimension 4 where 3 is needed"),
        ({"query_ids": ["a", "b"]}, "query_ids and reference_ids are of use only together"),
        ({"working_memory": 0}, "working_memory must be positive"),
    ],
)
def test_what_cannot_be_computed_is_refused(changes, message):
    arguments = {"queries": np.ones((2, 3)), "references": cloud(0, 5, 3), "k": 2, **changes}
    with pytest.raises(ValueError, match=message):
        slof(**arguments)


def test_the_dimension_needs_two_neighbours_and_a_known_estimator():
    with pytest.raises(ValueError, match="k must be at least 2 for dao, not 1"):
        dao(np.ones((1, 3)), cloud(0, 5, 3), 1)
    with pytest.raises(ValueError, match="lid must be one of mle, mom, mom_all, not 'twonn'"):
        dao(np.ones((1, 3)), cloud(0, 5, 3), 2, lid="twonn")


def test_ids_of_queries_need_ids_of_references():
    with pytest.raises(ValueError, match="of no use without the ids of the references"):
        GroupDensity([cloud(0, 5, 3)], (2,)).log_density(np.ones((1, 3)), ["a"])
