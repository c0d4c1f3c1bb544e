"""A world of Kent groups with prompts: the model under which the paper proves its claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dat_lib.arrays import FloatArray, IntArray
from dat_lib.choices import Density
from dat_lib.density.densities import GroupDensity
from dat_lib.theory.kent import Kent, random_axes

RARITY = 1.3
"""How much less concentrated a rare group (attribute other than the usual one) is."""


@dataclass(frozen=True)
class KentGroups:
    """K x M groups (y, a), in order of (y, a), each a Kent distribution, and the prompts that stand for them."""

    groups: tuple[Kent, ...]
    """K * M distributions; the group of class y and attribute a is at y * M + a."""
    class_text: FloatArray
    """[K, d] of unit length."""
    group_text: FloatArray
    """[K, M, d] of unit length."""
    seed: int

    @property
    def shape(self) -> tuple[int, int]:
        """(K, M)."""
        return self.group_text.shape[0], self.group_text.shape[1]

    @property
    def dim(self) -> int:
        """d."""
        return self.groups[0].dim

    @property
    def prompts(self) -> FloatArray:
        """Group prompts [G, d]."""
        return self.group_text.reshape(-1, self.dim)

    def queries(self, each: int) -> tuple[FloatArray, IntArray]:
        """`each` samples of every group [G * each, d] and their groups [G * each]."""
        drawn = [group.sample(self._rng(0, index), each) for index, group in enumerate(self.groups)]
        return np.concatenate(drawn), np.repeat(np.arange(len(self.groups)), each)

    def references(self, n: int, repeat: int = 0) -> list[FloatArray]:
        """n references [n, d] of every group, drawn afresh for each n and repeat, never among the queries."""
        return [group.sample(self._rng(1, index, n, repeat), n) for index, group in enumerate(self.groups)]

    def log_densities(self, points: FloatArray) -> FloatArray:
        """log p_g of points [N, d]: [N, G]."""
        return np.stack([group.log_density(points) for group in self.groups], axis=1)

    def cosines(self, points: FloatArray) -> FloatArray:
        """Cosines of points [N, d] with the group prompts: [N, G]."""
        cosines: FloatArray = np.einsum("ij,kj->ik", points, self.prompts)
        return cosines

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *key])


def kent_groups(
    seed: int = 0,
    *,
    dim: int = 16,
    classes: int = 2,
    attributes: int = 2,
    spread: float = 0.6,
    ellipticity: float = 0.6,
    class_offset: float = 2.0,
    attribute_offset: float = 3.0,
    lean: float = 2.0,
) -> KentGroups:
    """Draw a world in which class y usually comes with attribute y mod M.

    Parameters
    ----------
    spread
        About the root mean square angle (radians) of a sample to its group's mean: kappa = (d - 1) / spread^2, and
        `RARITY` times less for groups of an unusual attribute, so that constants log c_d differ between groups.
    ellipticity
        2 beta / kappa, in (-1, 1): the variances along g2 and g3 are as 1 / (1 - e) to 1 / (1 + e).
    class_offset, attribute_offset
        How far a class and an attribute move a group's mean, in standard deviations of a group along one axis,
        spread / sqrt(d - 1), so that groups overlap alike in every dimension.
    lean
        How far a prompt moves towards the attribute that usually comes with its class, in the same unit.
    """
    if classes < 1 or attributes < 1 or classes * attributes < 2:
        raise ValueError(f"{classes} classes and {attributes} attributes are fewer than 2 groups")
    if dim < max(4, 1 + classes + attributes):
        raise ValueError(
            f"{classes} classes and {attributes} attributes need dim >= {max(4, 1 + classes + attributes)}, not {dim}"
        )
    if not spread > 0:
        raise ValueError(f"spread must be positive, not {spread}")
    if not -1 < ellipticity < 1:
        raise ValueError(f"ellipticity must lie in (-1, 1), not {ellipticity}")
    rng = np.random.default_rng([seed, dim])
    axes = _orthonormal(rng, 1 + classes + attributes, dim)
    unit = spread / math.sqrt(dim - 1)
    of_class, of_attribute = unit * axes[1 : 1 + classes], unit * axes[1 + classes :]
    usual = np.arange(classes) % attributes
    means = _unit(axes[0] + class_offset * of_class[:, None] + attribute_offset * of_attribute)
    groups = []
    for y, a in np.ndindex(classes, attributes):
        kappa = (dim - 1) / spread**2 / (1.0 if a == usual[y] else RARITY)
        groups.append(Kent(kappa, ellipticity * kappa / 2, random_axes(rng, dim, means[y, a])))
    leaning = lean * of_attribute[usual]
    return KentGroups(
        groups=tuple(groups),
        class_text=_unit(axes[0] + class_offset * of_class + leaning),
        group_text=_unit(means + leaning[:, None]),
        seed=seed,
    )


def sparsity(references: Sequence[FloatArray], points: FloatArray, k: int, density: Density = "slof") -> FloatArray:
    """log D_g of points [N, d] in G reference sets: [N, G]."""
    log_density: FloatArray = GroupDensity(references, (k,), density=density).log_density(points)[0]
    return log_density


def _orthonormal(rng: np.random.Generator, count: int, dim: int) -> FloatArray:
    axes = rng.normal(size=(count, dim))
    for i in range(count):
        for _ in range(2):
            axes[i] -= np.einsum("i,ij->j", np.einsum("ij,j->i", axes[:i], axes[i]), axes[:i])
        axes[i] /= np.sqrt((axes[i] ** 2).sum())
    return axes


def _unit(vectors: FloatArray) -> FloatArray:
    unit: FloatArray = vectors / np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    return unit
