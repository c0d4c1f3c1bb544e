"""The contract every method keeps: what it may be given, what it declares it reads, what it returns.

A method is a frozen dataclass whose fields are its settings. It declares its `needs`; `run_method` hands over
those and nothing else, so a method that says it needs no test attributes cannot see them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dat_lib.applicability import NotApplicableError as NotApplicableError
from dat_lib.arrays import NO_ATTRIBUTE, FloatArray, IdArray, IntArray, as_ids, as_indices, as_vectors
from dat_lib.choices import Choice, Density, Lid, Metric, Shortage

STANDS_IN: Mapping[str, str] = {
    "spurious": "attribute",
    "candidate": "group",
    "class_context": "group",
    "context": "attribute",
}
"""A role that only some methods have, and the common role used where a prompt set does not write it out."""


@dataclass(frozen=True)
class DensityNeeds:
    """How sparse n references of each group are around the queries. The settings are those of `dat_lib.estimator.DAT`.

    References are chosen from the split that the dataset takes them from, whose classes are read, and whose attributes
    are read (`groups` "true") or inferred from the prompts of the role "attribute".
    """

    n: int
    k: int
    density: Density = "slof"
    lid: Lid = "mle"
    metric: Metric = "euclidean"
    shortage: Shortage = "drop"
    references: Choice = "herded"
    corruption: float = 0.0
    """The share of each group's references that changes places with those of other groups."""
    groups: Literal["true", "inferred"] = "true"

    @property
    def random(self) -> bool:
        """Whether the seed has a say."""
        return self.references == "random" or self.corruption > 0


@dataclass(frozen=True)
class Needs:
    """What a method reads. The runner hands over nothing else."""

    text: tuple[str, ...]
    """Roles of prompt vectors, for example ("class",) or ("class", "group")."""
    test_attributes: bool = False
    pool: bool = False
    """Embeddings and ids of the images of another split than the test split."""
    pool_labels: bool = False
    pool_attributes: bool = False
    pool_split: Literal["reference", "train"] = "reference"
    """Which split the pool is: the one the dataset takes references from, or the training split, always."""
    densities: DensityNeeds | None = None
    """Densities in references of the pool. With them the method need not be given the pool itself."""
    one_by_one: bool = False
    """Whether the answer for an image depends on no other query: then very many of them are handed over in blocks.

    Of no use with a pool, for what a method makes of it would be made for each block.
    """

    def __post_init__(self) -> None:
        if (self.pool_labels or self.pool_attributes) and not self.pool:
            raise ValueError("labels or attributes of the pool are of no use without the pool: set pool=True")

    def in_full(self) -> Needs:
        """All that a result rests on: what the method reads, with what its densities are made from in their place."""
        if self.densities is None:
            return self
        inferred = self.densities.groups == "inferred"
        return replace(
            self,
            text=tuple(dict.fromkeys([*self.text, *(["attribute"] if inferred else [])])),
            pool=True,
            pool_labels=True,
            pool_attributes=self.pool_attributes or not inferred,
            densities=None,
        )


@dataclass(frozen=True)
class Densities:
    """What `DensityNeeds` asks for."""

    log_density: FloatArray
    """[N, K, M] logarithms, +inf for a group without references."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What must be said about the references wherever the result is shown, as plain JSON values."""

    @property
    def without_references(self) -> str:
        """Why no group has references, in plain words; empty where one has."""
        if not self.log_density.size or not np.isposinf(self.log_density).all() or self.notes.get("active_groups"):
            return ""
        return no_references([(group["have"], group["need"]) for group in self.notes.get("dropped_groups", [])])


@dataclass(frozen=True)
class Problem:
    """Everything a method may be given; what it does not need is None or absent.

    K is the number of classes, M of attributes, d the dimension. Vectors are raw: each method normalises as
    its formula says. An attribute may be `NO_ATTRIBUTE`: one that no prompt describes.
    """

    queries: FloatArray
    """[N, d] image embeddings to classify."""
    text: Mapping[str, FloatArray]
    """Role to [..., d]: "class" [K, d], "attribute" [M, d], "group" [K, M, d], others by method."""
    n_classes: int
    n_attributes: int
    query_ids: IdArray
    """[N] sample ids, to recognise a query that is itself a reference."""
    query_attributes: IntArray | None = None
    """[N] true attributes of the queries (an oracle)."""
    pool: FloatArray | None = None
    """[P, d] image embeddings of the split that `Needs.pool_split` names."""
    pool_ids: IdArray | None = None
    """[P] sample ids of the pool."""
    pool_labels: IntArray | None = None
    pool_attributes: IntArray | None = None
    densities: Densities | None = None
    logit_scale: float = 100.0
    """The backbone's learned multiplier of the cosine, already exponentiated."""
    seed: int = 0
    device: str = "cpu"
    """Where the heavy steps are computed, a torch device; like `working_memory` a resource, not a setting."""
    working_memory: float = 256
    """MiB of temporary arrays that a distance pass may take."""

    def only(self, needs: Needs) -> Problem:
        """A copy that holds what `needs` lists and nothing else, checked for shape, range and NaN.

        Raises:
            ValueError: something needed is absent or malformed; the message names it.
        """
        queries = as_vectors(self.queries, "queries")
        n_queries, dimension = queries.shape
        pool = as_vectors(_given(self.pool, "pool"), "pool", dim=dimension) if needs.pool else None
        n_pool = 0 if pool is None else len(pool)

        def indices(name: str, needed: bool, length: int, count: int, *allowed: int) -> IntArray | None:
            if not needed:
                return None
            return as_indices(_given(getattr(self, name), name), name, count=count, length=length, allowed=allowed)

        n_classes, n_attributes = self.n_classes, self.n_attributes
        return replace(
            self,
            queries=queries,
            text={role: self._text(role, dimension) for role in needs.text},
            query_ids=as_ids(self.query_ids, "query_ids", length=n_queries),
            query_attributes=indices("query_attributes", needs.test_attributes, n_queries, n_attributes, NO_ATTRIBUTE),
            pool=pool,
            pool_ids=as_ids(_given(self.pool_ids, "pool_ids"), "pool_ids", length=n_pool) if needs.pool else None,
            pool_labels=indices("pool_labels", needs.pool_labels, n_pool, n_classes),
            pool_attributes=indices("pool_attributes", needs.pool_attributes, n_pool, n_attributes, NO_ATTRIBUTE),
            densities=self._densities(n_queries) if needs.densities is not None else None,
        )

    def _densities(self, n_queries: int) -> Densities:
        if self.densities is None:
            raise ValueError("the method needs densities, which are not given (`run_on_pool` makes them from the pool)")
        found, expected = self.densities.log_density, (n_queries, self.n_classes, self.n_attributes)
        if found.shape != expected:
            raise ValueError(f"the densities have the shape {found.shape}, expected {expected}")
        if np.isnan(found).any():
            raise ValueError("the densities are not numbers")
        return self.densities

    def _text(self, role: str, dimension: int) -> FloatArray:
        held = text_role(role, self.text)
        if held is None:
            there = ", ".join(sorted(self.text)) or "none"
            raise ValueError(f'the method needs prompts of the role "{role}"; there are: {there}')
        name = f'the prompts of the role "{role}"'
        vectors = as_vectors(self.text[held], name, ndim=max(2, self.text[held].ndim), dim=dimension)
        heads = {
            "class": (self.n_classes,),
            "attribute": (self.n_attributes,),
            "group": (self.n_classes, self.n_attributes),
        }
        if vectors.shape[:-1] != heads.get(role, vectors.shape[:-1]):
            raise ValueError(f"{name} have the shape {vectors.shape[:-1]}, expected {heads[role]}")
        return vectors


@dataclass(frozen=True)
class Prediction:
    """What a method answers."""

    labels: IntArray
    """[N] predicted classes."""
    scores: FloatArray | None = None
    """[N, K], larger is likelier, where the method has them."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What must be shown wherever the number is, as plain JSON values: dropped groups, chosen settings."""
    averaged: tuple[str, ...] = ()
    """Notes that are means over the queries. With those of other blocks they are averaged."""
    added: tuple[str, ...] = ()
    """Notes that are counts of queries, or lists of counts. With those of other blocks they are added up."""


@runtime_checkable
class Method(Protocol):
    """A frozen dataclass whose fields are its settings, with the paper's values as defaults."""

    name: ClassVar[str]
    title: ClassVar[str]
    """The name in tables, for example "DAT*"."""

    @property
    def needs(self) -> Needs:
        """What it reads; may depend on the settings."""
        ...

    def predict(self, problem: Problem) -> Prediction:
        """Classify the queries of a problem that holds exactly what `needs` lists.

        Raises:
            NotApplicableError: the data lack what the method's name promises to use, such as references.
        """
        ...


def no_references(sizes: Sequence[tuple[int, int]]) -> str:
    """Say that no group has references: how many each has and needs is given where it is known."""
    if not sizes:
        return "no group has references"
    most, need = max(sizes)
    return f"no group has the {need} references that it takes: the largest has {most}"


def text_role(role: str, available: Mapping[str, object]) -> str | None:
    """The role whose vectors serve `role`: itself, else its stand-in, else None."""
    if role in available:
        return role
    other = STANDS_IN.get(role)
    return other if other in available else None


def run_method(method: Method, problem: Problem) -> Prediction:
    """Give `method` what it needs and nothing else, and check what it returns.

    Raises:
        ValueError: something needed is absent or malformed, or the prediction has the wrong length, a class
            out of range, scores that are not finite, or notes that are not plain JSON. Names the method.
        NotApplicableError: as `Method.predict`.
    """
    try:
        given = problem.only(method.needs)
    except ValueError as error:
        raise ValueError(f"{method.name}: {error}") from error
    prediction = method.predict(given)
    _check_prediction(method.name, prediction, len(problem.queries), problem.n_classes)
    return prediction


def _check_prediction(name: str, prediction: Prediction, n_queries: int, n_classes: int) -> None:
    labels = np.asarray(prediction.labels)
    if labels.shape != (n_queries,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"{name} returned labels {labels.dtype}{labels.shape}, expected {n_queries} integers")
    if n_queries and (labels.min() < 0 or labels.max() >= n_classes):
        raise ValueError(f"{name} returned labels {labels.min()} to {labels.max()}, expected 0 to {n_classes - 1}")
    if prediction.scores is not None:
        scores = np.asarray(prediction.scores)
        if scores.shape != (n_queries, n_classes):
            raise ValueError(f"{name} returned scores {scores.shape}, expected {(n_queries, n_classes)}")
        if not np.isfinite(scores).all():
            raise ValueError(f"{name} returned scores that are not finite")
    try:
        json.dumps(dict(prediction.notes), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} returned notes that are not plain JSON values: {error}") from error


def _given(values: npt.NDArray[Any] | None, name: str) -> npt.NDArray[Any]:
    if values is None:
        raise ValueError(f"the method needs {name}, which is not given")
    return values
