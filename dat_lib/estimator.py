"""DAT and DAT* with the manners of scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, IntArray, as_vectors
from dat_lib.attributes import infer_attributes
from dat_lib.choices import Density, Lid, Metric
from dat_lib.density.outlier_factors import check_density, check_neighbours
from dat_lib.density.reference_density import ReferenceDensity
from dat_lib.parameters import Parameters
from dat_lib.references import DroppedGroup, Sampling, Shortage, check_selection, select_references
from dat_lib.scores import Score, Terms
from dat_lib.translation import Similarities, check_translation, similarities, sweep, translate


class DroppedGroupWarning(UserWarning):
    """Some groups have too few references and can never win."""


@dataclass(frozen=True)
class Report:
    """What must be known of the queries last scored, wherever their result is shown."""

    queries: int
    negative: int
    """Similarities below 0, for which the quotient reverses its meaning."""
    negative_share: float
    dropped_groups: tuple[DroppedGroup, ...]


class DAT(Parameters):
    """Density-aware translation: similarities to group prompts, divided by how sparse each group is around the image.

    K classes, M attributes, dimension d. Embeddings and prompt vectors are normalised inside.

    Parameters
    ----------
    n
        References per group.
    k
        Neighbours of the density, fewer than n.
    strength
        The exponent lambda of the density.
    density, lid, metric
        "slof", "knn" or "dao" (with `lid` "mle", "mom" or "mom_all"), on "euclidean" or "cosine" distances.
    terms, score, epsilon, temperature
        See `dat_lib.translation.translate`; `temperature` is that of the logit form.
    shortage, sampling, seed
        See `dat_lib.references.select_references`.
    device
        Where distances are computed: a torch device.
    working_memory
        MiB of temporary arrays of the distance pass, whatever the number of queries.

    Attributes
    ----------
    classes_
        [K] the class numbers.
    references_
        `GroupReferences`.
    dropped_groups_
        Groups with too few references, as `DroppedGroup` records: their density is infinite and they never win.
    report_
        `Report` on the queries last scored.

    Examples
    --------
    >>> from dat_lib.toyworld.simulation import simulate
    >>> world = simulate(seed=0)
    >>> train, test = world.part("train"), world.part("test")
    >>> model = DAT(n=56, k=10, strength=10.0).fit(
    ...     world.embeddings[train], world.labels[train], world.attributes[train],
    ...     class_text=world.text["class"], group_text=world.text["group"],
    ... )
    >>> model.predict(world.embeddings[test]).shape
    (2000,)
    """

    def __init__(
        self,
        n: int = 56,
        k: int = 10,
        strength: float = 10.0,
        density: Density = "slof",
        terms: Terms = "both",
        score: Score = "ratio",
        shortage: Shortage = "drop",
        epsilon: float = 1e-8,
        *,
        lid: Lid = "mle",
        metric: Metric = "euclidean",
        temperature: float = 0.01,
        sampling: Sampling = "herding",
        seed: int = 0,
        device: str = "cpu",
        working_memory: float = 256,
    ) -> None:
        self.n = n
        self.k = k
        self.strength = strength
        self.density = density
        self.terms = terms
        self.score = score
        self.shortage = shortage
        self.epsilon = epsilon
        self.lid = lid
        self.metric = metric
        self.temperature = temperature
        self.sampling = sampling
        self.seed = seed
        self.device = device
        self.working_memory = working_memory

    def fit(
        self,
        embeddings: npt.ArrayLike,
        labels: npt.ArrayLike,
        attributes: npt.ArrayLike,
        *,
        class_text: npt.ArrayLike,
        group_text: npt.ArrayLike,
        sample_ids: npt.ArrayLike | None = None,
    ) -> Self:
        """Choose the references from a pool.

        Parameters
        ----------
        embeddings, labels, attributes
            [P, d], [P] in 0..K-1 and [P] in 0..M-1, or -1 for a sample of no group.
        class_text, group_text
            Prompt vectors [K, d] and [K, M, d].
        sample_ids
            [P], so that a query that is itself a reference is recognised by its id.
        """
        self._check_settings()
        embeddings = as_vectors(embeddings, "embeddings")
        dim = embeddings.shape[1]
        class_text = as_vectors(class_text, "class_text", dim=dim)
        group_text = as_vectors(group_text, "group_text", ndim=3, dim=dim)
        if len(class_text) != len(group_text):
            raise ValueError(
                f"class_text has {len(class_text)} classes and group_text has {len(group_text)}: they must agree"
            )
        references = select_references(
            embeddings,
            labels,
            attributes,
            n=self.n,
            k=self.k,
            n_classes=group_text.shape[0],
            n_attributes=group_text.shape[1],
            shortage=self.shortage,
            sampling=self.sampling,
            seed=self.seed,
            sample_ids=sample_ids,
        )
        if not references.groups and self.terms == "group":
            raise ValueError(f"no group has enough references, and terms='group' has nothing else to go by: n={self.n}")
        self.classes_ = np.arange(len(class_text))
        self.n_features_in_ = dim
        self.class_text_, self.group_text_ = class_text, group_text
        self.references_ = references
        self.dropped_groups_ = references.dropped
        self.density_ = ReferenceDensity(
            references,
            (self.k,),
            density=self.density,
            lid=self.lid,
            metric=self.metric,
            device=self.device,
            working_memory=self.working_memory,
        )
        if references.dropped:
            warnings.warn(
                f"{len(references.dropped)} of {group_text.shape[0] * group_text.shape[1]} groups (label, attribute) "
                "have too few references and can never win: " + "; ".join(map(str, references.dropped)),
                DroppedGroupWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, queries: npt.ArrayLike, sample_ids: npt.ArrayLike | None = None) -> FloatArray:
        """Class scores [N, K], float64, of queries [N, d], which may come in blocks of any size: scores stay equal."""
        similarity, log_density = self._compare(queries, sample_ids)
        return translate(
            similarity,
            log_density,
            strength=self.strength,
            terms=self.terms,
            score=self.score,
            epsilon=self.epsilon,
            temperature=self.temperature,
        )

    def predict(self, queries: npt.ArrayLike, sample_ids: npt.ArrayLike | None = None) -> IntArray:
        """Classes [N] of queries [N, d]; ties go to the first class."""
        similarity, log_density = self._compare(queries, sample_ids)
        found = sweep(
            similarity,
            [log_density],
            strengths=[self.strength],
            terms=[self.terms],
            score=self.score,
            epsilon=self.epsilon,
            temperature=self.temperature,
        )
        classes: IntArray = found[0, 0, 0]
        return classes

    def _compare(self, queries: npt.ArrayLike, sample_ids: npt.ArrayLike | None) -> tuple[Similarities, FloatArray]:
        """Similarities and log densities [N, K, M] of queries."""
        if not hasattr(self, "references_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit first")
        queries = as_vectors(queries, "queries", dim=self.n_features_in_)
        similarity = similarities(queries, self.class_text_, self.group_text_)
        log_density = self.density_.log_density(queries, sample_ids)[0]
        self.report_ = Report(len(queries), similarity.negative, similarity.negative_share, self.dropped_groups_)
        return similarity, log_density

    def _check_settings(self) -> None:
        check_density(self.density, self.lid, self.metric)
        check_neighbours((self.k,), self.density)
        check_selection(self.n, self.k, self.shortage, self.sampling)
        check_translation(self.strength, self.terms, self.score, self.epsilon, self.temperature)


class DATStar(DAT):
    """DAT*: DAT whose pool has no attributes; they are inferred from attribute prompts. Parameters as for `DAT`.

    Attributes
    ----------
    inferred_
        `InferredAttributes` of the pool.
    """

    def fit(  # type: ignore[override]
        self,
        embeddings: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        class_text: npt.ArrayLike,
        group_text: npt.ArrayLike,
        attribute_text: npt.ArrayLike,
        sample_ids: npt.ArrayLike | None = None,
    ) -> Self:
        """Infer the attributes of a pool and choose the references; attribute_text is [M, d], the rest as for `DAT`."""
        self._check_settings()
        group_text = as_vectors(group_text, "group_text", ndim=3)
        attribute_text = as_vectors(attribute_text, "attribute_text", dim=group_text.shape[2])
        if len(attribute_text) != group_text.shape[1]:
            raise ValueError(
                f"attribute_text has {len(attribute_text)} attributes and group_text {group_text.shape[1]}: they "
                "must agree"
            )
        self.inferred_ = infer_attributes(embeddings, attribute_text)
        return super().fit(
            embeddings,
            labels,
            self.inferred_.attributes,
            class_text=class_text,
            group_text=group_text,
            sample_ids=sample_ids,
        )
