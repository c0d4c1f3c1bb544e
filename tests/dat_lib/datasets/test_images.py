import pickle

import numpy as np
import pytest

from dat_lib.datasets.images import ImageSamples, UnreadableImage, overlap


def samples(*rows: tuple[str, str, str]) -> ImageSamples:
    ids, split, files = (np.array(column) for column in zip(*rows, strict=True))
    zeros = np.zeros(len(rows), dtype=np.int64)
    return ImageSamples(ids, split, zeros, zeros, files)


def test_overlap_marks_test_samples_found_among_references_by_id_or_by_file() -> None:
    listed = samples(
        ("a", "train", "a.png"),
        ("b", "train", "b.png"),
        ("c", "val", "c.png"),
        ("a", "test", "other.png"),
        ("x", "test", "b.png"),
        ("y", "test", "y.png"),
        ("c", "test", "c.png"),
    )
    assert overlap(listed, "train").tolist() == [False, False, False, True, True, False, False]
    assert overlap(listed, "val").tolist() == [False] * 6 + [True]


def test_drawn_images_which_have_no_file_do_not_overlap_for_that() -> None:
    listed = samples(("a", "train", ""), ("b", "test", ""), ("a", "test", ""))
    assert overlap(listed, "train").tolist() == [False, False, True]


def test_the_test_split_as_references_is_no_finding_and_an_unknown_split_is_an_error() -> None:
    assert not overlap(samples(("a", "test", "a.png")), "test").any()
    with pytest.raises(ValueError, match='not "validation"'):
        overlap(samples(("a", "test", "a.png")), "validation")


def test_an_unreadable_image_comes_back_whole_from_another_process() -> None:
    error = pickle.loads(pickle.dumps(UnreadableImage("a/b.png", "the file is empty")))
    assert (error.file, error.why, str(error)) == ("a/b.png", "the file is empty", "a/b.png: the file is empty")
