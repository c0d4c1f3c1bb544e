"""How far apart scores lie, with DAT and with zero-shot: the last panel of the paper's triptych."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import NO_ATTRIBUTE, FloatArray, IdArray, IntArray, as_indices
from dat_lib.diagnostics.distributions import Histograms, histograms
from dat_lib.diagnostics.triptych import group_scores
from dat_lib.scores import Score, Terms
from dat_lib.translation import Similarities, translate


@dataclass(frozen=True)
class Margins:
    """One row per sample and method ("zero_shot", "dat")."""

    method: IdArray
    row: IntArray
    """Position among the queries."""
    label: IntArray
    attribute: IntArray
    margin: FloatArray
    """Score of the true class minus the best of the others: above 0 where the prediction is right."""
    standardised: FloatArray
    """The same in units of the root mean square margin of its method, so that methods can be compared."""
    spread: FloatArray
    """Largest minus smallest group score, the paper's "score difference": a matter of scale, and blind to the label."""
    correct: npt.NDArray[np.bool_]


def score_margins(
    similarity: Similarities,
    log_density: FloatArray,
    labels: npt.ArrayLike,
    attributes: npt.ArrayLike,
    *,
    strength: float = 10.0,
    terms: Terms = "both",
    score: Score = "ratio",
    epsilon: float = 1e-8,
    temperature: float = 0.01,
) -> Margins:
    """Margins of N queries under zero-shot (class prompts) and DAT; settings as in `dat_lib.translation.translate`.

    A wider spread, which the paper shows, does not by itself mean a better prediction: (D + epsilon) ** -strength
    multiplies all scores of an image alike where it is dense. `margin` and `correct` tell.
    """
    count, classes, words = similarity.groups.shape
    if classes < 2:
        raise ValueError("a margin needs 2 classes or more")
    if not count:
        raise ValueError("there are no samples to measure")
    labels = as_indices(labels, "labels", count=classes, length=count)
    attributes = as_indices(attributes, "attributes", count=words, length=count, allowed=(NO_ATTRIBUTE,))
    translated = translate(
        similarity,
        log_density,
        strength=strength,
        terms=terms,
        score=score,
        epsilon=epsilon,
        temperature=temperature,
    )
    cosines = similarity.groups.astype(np.float64)
    if score == "ratio":
        by_group = group_scores(cosines, log_density.astype(np.float64), strength, epsilon)
    else:
        logarithm = np.logaddexp(log_density.astype(np.float64), np.log(epsilon))
        by_group = cosines / temperature - strength * logarithm
    by_group = np.where(np.isfinite(log_density) | (log_density < 0), by_group, np.nan)
    parts = []
    for method, scores, groups in (
        ("zero_shot", similarity.classes.astype(np.float64), cosines),
        ("dat", translated, by_group),
    ):
        margin = _margins(scores, labels)
        flat = groups.reshape(count, -1)
        parts.append(
            [
                np.full(count, method),
                np.arange(count),
                labels,
                attributes,
                margin,
                _standardised(margin),
                np.fmax.reduce(flat, axis=1) - np.fmin.reduce(flat, axis=1),
                scores.argmax(axis=1) == labels,
            ]
        )
    return Margins(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def margin_histograms(margins: Margins, bins: int = 40) -> Histograms:
    """Histograms of the standardised margins of both methods, on common bins."""
    methods = dict.fromkeys(margins.method.tolist())
    return histograms({name: margins.standardised[margins.method == name] for name in methods}, bins)


def _margins(scores: FloatArray, labels: IntArray) -> FloatArray:
    own = np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    others = scores.copy()
    np.put_along_axis(others, labels[:, None], -np.inf, axis=1)
    margins: FloatArray = own - others.max(axis=1)
    return margins


def _standardised(margin: FloatArray) -> FloatArray:
    size = float(np.sqrt((margin**2).mean()))
    scaled: FloatArray = margin / size if size else margin.copy()
    return scaled
