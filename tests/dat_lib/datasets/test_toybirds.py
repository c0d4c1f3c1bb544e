"""toybirds: exact groups, drawings that depend on seed, split and row alone, kinds that differ in shape only."""

import pickle
from collections import Counter
from multiprocessing import get_context

import numpy as np
import pytest

from dat_lib.datasets.toybirds import SIZE, Toybirds, draw_scene, open_dataset
from dat_lib.toyworld.bird_drawing import KINDS, draw_bird, random_bird
from dat_lib.toyworld.place_drawing import BACKGROUNDS, PLACES


def pixels(dataset: Toybirds, row: int) -> np.ndarray:
    return np.asarray(dataset.open_image(row))


def groups(samples, split):
    chosen = samples.split == split
    return Counter(zip(samples.labels[chosen].tolist(), samples.attributes[chosen].tolist(), strict=True))


def test_the_kind_goes_with_the_place_in_training_and_groups_are_balanced_elsewhere():
    samples = open_dataset().samples()
    assert groups(samples, "train") == {(0, 0): 1425, (0, 1): 75, (1, 0): 75, (1, 1): 1425}
    assert groups(samples, "val") == {(y, a): 150 for y in (0, 1) for a in (0, 1)}
    assert groups(samples, "test") == {(y, a): 300 for y in (0, 1) for a in (0, 1)}


def test_samples_are_well_formed():
    samples = open_dataset(train=40, val=4, test=8).samples()
    assert len(set(samples.sample_ids.tolist())) == 52
    assert (samples.files == "").all()
    assert samples.split.tolist() == ["train"] * 40 + ["val"] * 4 + ["test"] * 8
    assert samples.sample_ids[40] == "val-00000"


@pytest.mark.parametrize(("correlation", "unusual"), [(1.0, 0), (0.5, 50), (0.8, 20)])
def test_the_correlation_can_be_chosen(correlation, unusual):
    counts = groups(open_dataset(train=200, val=0, test=0, correlation=correlation).samples(), "train")
    assert counts[0, 1] == counts[1, 0] == unusual


def test_groups_are_in_no_order():
    labels = open_dataset(train=200, val=0, test=0).samples().labels
    assert 60 < np.count_nonzero(np.diff(labels)) < 140


def test_an_image_depends_on_seed_split_and_row_alone():
    dataset = open_dataset(train=40, val=8, test=8)
    again = open_dataset(train=40, val=8, test=8)
    backwards = {row: pixels(again, row) for row in (55, 44, 41, 3, 0)}
    for row, image in backwards.items():
        np.testing.assert_array_equal(pixels(dataset, row), image)
    # The size of one split does not change the images of another.
    larger = open_dataset(train=80, val=8, test=8)
    np.testing.assert_array_equal(pixels(larger, 80 + 3), pixels(dataset, 40 + 3))


def test_a_worker_process_draws_the_same_image():
    dataset = open_dataset(train=4, val=0, test=0)
    with get_context("spawn").Pool(1) as pool:
        drawn = pool.apply(pixels, (dataset, 2))
    np.testing.assert_array_equal(drawn, pixels(dataset, 2))


def test_seeds_splits_and_rows_give_different_images():
    dataset, other = open_dataset(seed=0, train=8, val=8, test=8), open_dataset(seed=1, train=8, val=8, test=8)
    images = [pixels(one, row).tobytes() for one in (dataset, other) for row in range(24)]
    assert len(set(images)) == len(images)


def test_images_are_small_rgb_and_neither_black_nor_blank():
    dataset = open_dataset(train=24, val=0, test=0)
    for row in range(24):
        image = dataset.open_image(row)
        assert (image.mode, image.size) == ("RGB", (SIZE, SIZE))
        assert np.asarray(image).mean() > 15
        assert np.asarray(image).std() > 5


def test_a_scene_says_what_was_drawn():
    dataset = open_dataset(train=60, val=0, test=0)
    samples = dataset.samples()
    seen = set()
    for row in range(60):
        _, scene = dataset.draw(row)
        assert scene.bird == KINDS[samples.labels[row]]
        assert scene.background == BACKGROUNDS[samples.attributes[row]]
        assert scene.place in PLACES[scene.background]
        seen.add(scene.place)
    assert len(seen) >= 7


def test_a_plain_backdrop_is_neither_land_nor_water():
    _, scene = draw_scene(1, None, np.random.default_rng(0))
    assert (scene.bird, scene.background) == ("waterbird", "plain")


def test_kinds_differ_in_shape_and_share_their_colours_and_poses():
    birds = [[random_bird(kind, np.random.default_rng([kind, row])) for row in range(400)] for kind in (0, 1)]

    def mean(name, kind):
        return np.mean([np.mean(getattr(bird, name)) for bird in birds[kind]])

    for name in ("neck", "bill", "legs"):
        assert mean(name, 1) > mean(name, 0)
    for name in ("height", "tail", "bill_depth"):
        assert mean(name, 1) < mean(name, 0)
    for name in ("plumage", "belly", "wing", "bare_parts"):
        assert abs(mean(name, 1) - mean(name, 0)) < 12
    for name in ("neck_angle", "head_angle"):
        assert abs(mean(name, 1) - mean(name, 0)) < 5
    assert abs(mean("faces_left", 1) - mean("faces_left", 0)) < 0.12


def test_a_bird_that_faces_left_is_the_mirror_image():
    from dataclasses import replace

    from PIL import Image, ImageDraw, ImageOps

    bird = replace(random_bird(0, np.random.default_rng(4)), faces_left=False)

    def drawn(one):
        image = Image.new("RGB", (129, 129))
        draw_bird(ImageDraw.Draw(image), one, (64.0, 64.0), 50.0)
        return image

    mirrored = np.asarray(ImageOps.mirror(drawn(bird))).astype(int)
    differing = (np.abs(np.asarray(drawn(replace(bird, faces_left=True))).astype(int) - mirrored) > 0).any(axis=2)
    assert differing.mean() < 0.02


def test_it_is_small_when_pickled():
    assert len(pickle.dumps(open_dataset())) < 200_000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": -1}, "seed must not be negative"),
        ({"val": -4}, "val must not be negative"),
        ({"correlation": 1.5}, "correlation must be in 0 to 1"),
    ],
)
def test_settings_out_of_range_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        open_dataset(**settings)


@pytest.mark.parametrize("row", [-1, 12])
def test_a_row_that_is_not_there(row):
    with pytest.raises(IndexError, match="there is no row"):
        open_dataset(train=4, val=4, test=4).open_image(row)
