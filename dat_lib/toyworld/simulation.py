"""A seeded world of image and prompt vectors with the geometry the paper assumes, for tests and first steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, IntArray

CLASS_WORDS = ("landbird", "waterbird")
ATTRIBUTE_WORDS = ("land", "water")

MODALITY_COSINE = 0.25
"""Cosine of the axes of the image cone and the text cone: similarities lie around it, as CLIP's do."""
CLASS_OFFSET = 0.22
ATTRIBUTE_OFFSET = 0.4
"""How far a class and an attribute move a group's mean image: the attribute, a background, is the larger cue."""
GROUP_OFFSET = 0.12
"""How far a group's mean lies from class plus attribute alone."""
RARITY_OFFSET = 0.12
"""How much further out the mean of a rare group lies."""
SPREAD = 0.6
"""Root mean square angle (radians) of an image to its group's mean."""
RARITY_SPREAD = 1.15
"""How much wider a rare group spreads."""
LONG_AXIS = 0.15
"""Standard deviation (radians) along the long axis of each group, on top of the spread common to all."""
DECAY = 0.6
"""Standard deviations along the common axes fall as rank ** -DECAY."""
TEXT_OFFSET = 0.25
"""How far a word moves a prompt's vector."""
TEXT_LEAK = 0.14
"""How far a class prompt moves towards the attribute that usually comes with the class."""
LOG_NORM = (2.3, 0.1)
"""Mean and standard deviation of the logarithm of raw embedding norms."""


@dataclass(frozen=True)
class SimulatedWorld:
    """What `simulate` returns: P samples of all splits, K classes, M attributes, dimension d."""

    embeddings: FloatArray
    """[P, d] raw image embeddings, float32, not of unit length."""
    sample_ids: npt.NDArray[Any]
    """[P] strings."""
    split: npt.NDArray[Any]
    """[P] "train", "val" or "test"."""
    labels: IntArray
    """[P]"""
    attributes: IntArray
    """[P]"""
    classes: tuple[str, ...]
    attribute_words: tuple[str, ...]
    prompts: Mapping[str, Any]
    """Strings: "class" [K], "attribute" [M], "group" [K][M]."""
    text: Mapping[str, FloatArray]
    """Their raw vectors, float32: "class" [K, d], "attribute" [M, d], "group" [K, M, d]."""

    def part(self, split: str) -> npt.NDArray[np.bool_]:
        """[P] mask of a split."""
        return np.asarray(self.split == split)

    @property
    def prompt_vectors(self) -> dict[str, FloatArray]:
        """Prompt to its vector [d]."""
        return {
            str(prompt): vector
            for role, strings in self.prompts.items()
            for prompt, vector in zip(
                np.ravel(strings), self.text[role].reshape(-1, self.embeddings.shape[1]), strict=True
            )
        }


def simulate(
    seed: int = 0,
    *,
    classes: int = 2,
    attributes: int = 2,
    dim: int = 64,
    train: int = 4000,
    val: int = 800,
    test: int = 2000,
    correlation: float = 0.95,
    spurious: bool = True,
) -> SimulatedWorld:
    """Draw a world in which class y usually comes with attribute y mod M.

    What is assumed, all of it from the paper's account of CLIP:

    - a modality gap: images lie in one narrow cone of the sphere and prompts in another, and images do not vary
      along the axis of the prompts, so that cosines between them are small, positive and close together;
    - anisotropy: around its mean each group is an elongated cloud (Gaussian in the tangent space, carried to the
      sphere), with unequal axes common to all groups and one long axis of its own, as a Kent distribution has;
    - rare groups lie further out and spread wider than frequent ones;
    - a spurious correlation: in "train" a share `correlation` of each class has the usual attribute, the
      attribute moves an image more than the class does, and class words lean towards the usual attribute, in
      class prompts and in group prompts.

    With `spurious=False` attributes are independent of classes, no group is rarer than another and no word leans.
    "val" and "test" are balanced over groups in either case. Equal arguments give equal worlds.

    Parameters
    ----------
    train, val, test
        Samples of each split, in all.
    """
    directions = 2 + classes + attributes + classes * attributes
    if classes < 2 or attributes < 1:
        raise ValueError(f"a world needs at least 2 classes and 1 attribute, not {classes} and {attributes}")
    if dim < directions:
        raise ValueError(f"{classes} classes and {attributes} attributes need dim >= {directions}, not {dim}")
    if not 0 < correlation <= 1:
        raise ValueError(f"correlation must lie in (0, 1], not {correlation}")
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.normal(size=(dim, dim)))[0].T
    image_axis, text_axis, rest = frame[0], frame[1], frame[2:]
    class_axes, attribute_axes, group_axes = np.split(rest[: directions - 2], [classes, classes + attributes])
    group_axes = group_axes.reshape(classes, attributes, dim)
    usual = np.arange(classes)[:, None] % attributes == np.arange(attributes)
    rare = spurious & ~usual

    means = _unit(
        image_axis
        + CLASS_OFFSET * class_axes[:, None]
        + ATTRIBUTE_OFFSET * attribute_axes
        + (GROUP_OFFSET + RARITY_OFFSET * rare)[..., None] * group_axes
    )
    spreads = np.where(rare, RARITY_SPREAD, 1.0)
    labels, drawn, split = _draw_groups(
        rng, usual, {"train": train, "val": val, "test": test}, correlation if spurious else 1 / attributes
    )
    embeddings = _draw_images(rng, means, spreads, text_axis, labels, drawn)
    text = _prompt_vectors(rng, image_axis, text_axis, class_axes, attribute_axes, usual if spurious else None)
    words = tuple(CLASS_WORDS[i] if i < 2 else f"bird{i}" for i in range(classes))
    places = tuple(ATTRIBUTE_WORDS[i] if i < 2 else f"place{i}" for i in range(attributes))
    return SimulatedWorld(
        embeddings=embeddings,
        sample_ids=np.array([f"{part}-{i:06d}" for i, part in enumerate(split)]),
        split=split,
        labels=labels,
        attributes=drawn,
        classes=words,
        attribute_words=places,
        prompts={
            "class": [f"a photo of a {word}" for word in words],
            "attribute": [f"a photo with a {place} background" for place in places],
            "group": [[f"a photo of a {word} in {place}" for place in places] for word in words],
        },
        text=text,
    )


def _draw_groups(
    rng: np.random.Generator, usual: npt.NDArray[np.bool_], sizes: Mapping[str, int], correlation: float
) -> tuple[IntArray, IntArray, npt.NDArray[Any]]:
    """Labels, attributes and splits [P]: exact counts in shuffled order, classes balanced."""
    attributes = usual.shape[1]
    others = max(attributes - 1, 1)
    skewed = np.where(usual, correlation, (1 - correlation) / others)
    labels, drawn, split = [], [], []
    for part, size in sizes.items():
        shares = skewed if part == "train" else np.full(usual.shape, 1 / attributes)
        edges = np.rint(np.cumsum(shares.ravel() / shares.sum()) * size).astype(np.int64)
        group = np.repeat(np.arange(usual.size), np.diff(edges, prepend=0))
        rng.shuffle(group)
        labels.append(group // attributes)
        drawn.append(group % attributes)
        split.append(np.full(size, part))
    return np.concatenate(labels), np.concatenate(drawn), np.concatenate(split)


def _draw_images(
    rng: np.random.Generator,
    means: FloatArray,
    spreads: FloatArray,
    text_axis: FloatArray,
    labels: IntArray,
    attributes: IntArray,
) -> FloatArray:
    """Raw embeddings [P, d] around the group means [K, M, d], varying across the text axis, not along it."""
    dim = means.shape[-1]
    common_axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    deviations = np.arange(1.0, dim + 1) ** -DECAY
    deviations *= SPREAD / np.linalg.norm(deviations)
    long_axes = _unit(rng.normal(size=means.shape))

    mean = means[labels, attributes]
    tangent = (rng.normal(size=mean.shape) * deviations) @ common_axes
    tangent += LONG_AXIS * rng.normal(size=(len(mean), 1)) * long_axes[labels, attributes]
    tangent *= spreads[labels, attributes, None]
    tangent -= np.outer(tangent @ text_axis, text_axis)
    tangent -= (tangent * mean).sum(axis=1, keepdims=True) * mean
    angle = np.linalg.norm(tangent, axis=1, keepdims=True)
    on_sphere = np.cos(angle) * mean + np.sin(angle) * tangent / angle
    norms = np.exp(rng.normal(*LOG_NORM, size=(len(mean), 1)))
    raw: FloatArray = (norms * on_sphere).astype(np.float32)
    return raw


def _prompt_vectors(
    rng: np.random.Generator,
    image_axis: FloatArray,
    text_axis: FloatArray,
    class_axes: FloatArray,
    attribute_axes: FloatArray,
    usual: npt.NDArray[np.bool_] | None,
) -> dict[str, FloatArray]:
    """Raw prompt vectors by role; `usual` [K, M] says which attribute a class prompt leans towards."""
    axis = MODALITY_COSINE * image_axis + np.sqrt(1 - MODALITY_COSINE**2) * text_axis
    class_words = TEXT_OFFSET * class_axes
    if usual is not None:
        class_words = class_words + TEXT_LEAK * (usual @ attribute_axes)
    attribute_words = TEXT_OFFSET * attribute_axes
    vectors = {
        "class": axis + class_words,
        "attribute": axis + attribute_words,
        "group": axis + class_words[:, None] + attribute_words,
    }
    return {
        role: (_unit(array) * np.exp(rng.normal(*LOG_NORM, size=(*array.shape[:-1], 1)))).astype(np.float32)
        for role, array in vectors.items()
    }


def _unit(vectors: FloatArray) -> FloatArray:
    unit: FloatArray = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit
