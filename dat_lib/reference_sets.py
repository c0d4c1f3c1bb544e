"""Sets of references, however they were chosen: which samples stand for each group (y, a), and which groups lack."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from dat_lib.arrays import BoolArray, FloatArray, IdArray, IntArray
from dat_lib.choices import Shortage


@dataclass(frozen=True)
class DroppedGroup:
    """A group with too few samples: its density is infinite, so it can never win."""

    label: int
    attribute: int
    have: int
    need: int

    def __str__(self) -> str:
        return f"({self.label}, {self.attribute}) has {self.have} of {self.need}"


@dataclass(frozen=True)
class GroupReferences:
    """References of K x M groups, in order of (label, attribute) and, within a group, of selection."""

    vectors: FloatArray
    """[R, d] of unit length."""
    labels: IntArray
    """[R]"""
    attributes: IntArray
    """[R]"""
    positions: IntArray
    """[R] rows of the pool."""
    ids: IdArray | None
    """[R] sample ids, where the pool had them."""
    n_classes: int
    n_attributes: int
    dropped: tuple[DroppedGroup, ...] = ()

    @property
    def groups(self) -> list[tuple[int, int]]:
        """(label, attribute) of the groups that have references, in order."""
        return sorted(self._sizes())

    @property
    def ranks(self) -> IntArray:
        """[R] places in the order of selection of each group, from 0."""
        ranks = np.empty(len(self.labels), dtype=np.int64)
        for group, size in self._sizes().items():
            ranks[self.rows(*group)] = np.arange(size)
        return ranks

    def rows(self, label: int, attribute: int) -> IntArray:
        """Rows of one group's references."""
        return np.flatnonzero((self.labels == label) & (self.attributes == attribute))

    def first(self, n: int, k: int, shortage: Shortage) -> GroupReferences:
        """The first n references of each group, where it has as many as `needed` says; else it is dropped.

        Herding is greedy, so of a herded set that holds all there is of every shorter group these are the references
        that would be herded for n.
        """
        need, sizes = needed(n, k, shortage), self._sizes()
        dropped = tuple(
            DroppedGroup(label, attribute, sizes[label, attribute], need)
            for label, attribute in product(range(self.n_classes), range(self.n_attributes))
            if sizes[label, attribute] < need
        )
        kept = self.where(self.ranks < n)
        lacking = {(group.label, group.attribute) for group in dropped}
        enough = np.array([group not in lacking for group in kept.of_group()], dtype=bool)
        return replace(kept.where(enough), dropped=dropped)

    def where(self, chosen: BoolArray) -> GroupReferences:
        """The references at which `chosen` [R] is true."""
        return replace(
            self,
            vectors=self.vectors[chosen],
            labels=self.labels[chosen],
            attributes=self.attributes[chosen],
            positions=self.positions[chosen],
            ids=None if self.ids is None else self.ids[chosen],
        )

    def of_group(self) -> list[tuple[int, int]]:
        """[R] (label, attribute) of each reference."""
        return list(zip(self.labels.tolist(), self.attributes.tolist(), strict=True))

    def _sizes(self) -> Counter[tuple[int, int]]:
        return Counter(self.of_group())


def needed(n: int, k: int, shortage: Shortage) -> int:
    """Fewest samples with which a group of n references stays: n, or where shorter ones are used just above k."""
    return n if shortage == "drop" else min(n, k + 1)


def reference_notes(references: GroupReferences, query_ids: IdArray) -> dict[str, Any]:
    """Groups with and without references, and how many queries are references themselves."""
    dropped = [
        {"class": group.label, "attribute": group.attribute, "have": group.have, "need": group.need}
        for group in references.dropped
    ]
    same = 0 if references.ids is None else int(np.isin(query_ids, references.ids).sum())
    return {
        "active_groups": len(references.groups),
        "dropped_groups": dropped,
        "queries_among_references": same,
    }
