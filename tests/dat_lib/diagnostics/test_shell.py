import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dat_lib.columns import columns
from dat_lib.diagnostics.shell import ALL, embedding_shell, principal_variances
from tests.dat_lib.literal import unit


def world(seed=0):
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(40, 6)) * [3, 1, 1, 0.5, 0.5, 0.1] + 4
    labels, attributes = np.repeat([0, 0, 1], [20, 12, 8]), np.repeat([0, 1, -1], [20, 12, 8])
    return images, labels, attributes, rng.normal(size=(5, 6)) - 2


def test_samples_are_measured_against_the_mean_of_their_modality():
    images, labels, attributes, texts = world()
    samples = embedding_shell(images, labels, attributes, texts).samples
    assert samples.modality.tolist() == ["image"] * 40 + ["text"] * 5
    assert samples.attribute.tolist() == [*attributes.tolist(), *[-1] * 5]
    for name, vectors in (("image", images), ("text", texts)):
        chosen = samples.modality == name
        centre = unit(vectors).mean(axis=0)
        np.testing.assert_allclose(samples.norm[chosen], np.linalg.norm(vectors, axis=1))
        np.testing.assert_allclose(samples.distance[chosen], np.linalg.norm(unit(vectors) - centre, axis=1))
        np.testing.assert_allclose(samples.cosine[chosen], unit(vectors) @ unit(centre))
    assert len(columns(samples)["norm"]) == 45


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), count=st.integers(1, 30), dim=st.integers(1, 20))
def test_variances_are_the_eigenvalues_of_the_covariance(seed, count, dim):
    vectors = np.random.default_rng(seed).normal(size=(count, dim))
    found = principal_variances(vectors)
    expected = np.sort(np.linalg.eigvalsh(np.cov(vectors.T, bias=True).reshape(dim, dim)))[::-1]
    np.testing.assert_allclose(found, expected[: min(count, dim)], atol=1e-12)


def test_the_spectrum_adds_up():
    images, labels, attributes, texts = world()
    spectrum = embedding_shell(images, labels, attributes, texts).spectrum
    for name, axes in (("image", 6), ("text", 5)):
        chosen = spectrum.modality == name
        assert spectrum.rank[chosen].tolist() == list(range(1, axes + 1))
        assert (np.diff(spectrum.variance[chosen]) <= 0).all()
        assert spectrum.share[chosen].sum() == pytest.approx(1)
        assert spectrum.cumulative[chosen][-1] == pytest.approx(1)
    assert len(columns(spectrum)["rank"]) == 11


def test_the_summary_has_a_row_a_modality_and_a_group():
    images, labels, attributes, texts = world()
    summary = embedding_shell(images, labels, attributes, texts).summary
    keys = list(zip(summary.modality, summary.label, summary.attribute, summary.count, strict=True))
    assert keys == [
        ("image", ALL, ALL, 40),
        ("image", 0, 0, 20),
        ("image", 0, 1, 12),
        ("image", 1, -1, 8),
        ("text", ALL, ALL, 5),
    ]
    every, group = unit(images), unit(images[20:32])
    np.testing.assert_allclose(summary.norm_mean[2], np.linalg.norm(images[20:32], axis=1).mean())
    np.testing.assert_allclose(summary.norm_deviation[2], np.linalg.norm(images[20:32], axis=1).std())
    np.testing.assert_allclose(summary.mean_length[2], np.linalg.norm(group.mean(axis=0)))
    away = np.linalg.norm(group - every.mean(axis=0), axis=1)
    np.testing.assert_allclose([summary.distance_mean[2], summary.distance_deviation[2]], [away.mean(), away.std()])
    own = np.linalg.norm(group - group.mean(axis=0), axis=1)
    np.testing.assert_allclose(summary.own_distance_mean[2], own.mean())
    variances = np.linalg.eigvalsh(np.cov(group.T, bias=True))
    np.testing.assert_allclose(summary.effective_dimension[2], variances.sum() ** 2 / (variances**2).sum())
    np.testing.assert_allclose(summary.largest_share[2], variances.max() / variances.sum())
    text_mean = unit(texts).mean(axis=0)
    np.testing.assert_allclose(summary.modality_gap[0], np.linalg.norm(every.mean(axis=0) - text_mean))
    np.testing.assert_allclose(summary.modality_gap[2], np.linalg.norm(group.mean(axis=0) - text_mean))
    np.testing.assert_allclose(summary.modality_gap[4], summary.modality_gap[0])
    assert len(columns(summary)["count"]) == 5


def test_without_texts_there_is_no_gap_and_one_sample_has_no_shape():
    shell = embedding_shell([[3.0, 4.0], [1.0, 0.0]], [0, 1], [0, 0])
    assert np.isnan(shell.summary.modality_gap).all()
    assert np.isnan(shell.summary.effective_dimension[1:]).all()
    assert shell.summary.effective_dimension[0] == pytest.approx(1)
    assert shell.samples.norm.tolist() == [5, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.empty((0, 3)), [], []), "no images"),
        (([[1.0, 0.0]], [0], [0], np.empty((0, 2))), "no texts"),
        (([[1.0, 0.0]], [0], [0], [[1.0]]), "dimension 1 where 2 is needed"),
        (([[0.0, 0.0]], [0], [0]), "images is zero"),
        (([[1.0, 0.0]], [0, 1], [0]), "labels has 2 entries"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        embedding_shell(*arguments)
