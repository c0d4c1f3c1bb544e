"""Theorem 1: the DAT margin is a logit plus a scaled log density plus a bounded remainder; when is it Bayes-aligned?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dat_lib.arrays import BoolArray, FloatArray, IntArray
from dat_lib.choices import Density
from dat_lib.theory.groups import kent_groups
from dat_lib.theory.margin import Measured, measure
from dat_lib.theory.registry import Check

ROUNDING = 1e-9


@dataclass(frozen=True)
class BayesAlignment:
    """Theorem 1 in one setting: what is an identity, how wide the bound is, and how often its condition is met."""

    density: Density
    dim: int
    n: int
    k: int
    strength: float
    """lambda"""
    logit_scale: float
    """tau"""
    samples: int
    slope: float
    """alpha"""
    intercept: float
    """eta"""
    identity_error: float
    """Largest |m - (tau w.z + alpha lambda log p + r)|: rounding, for the decomposition is an identity."""
    remainder: float
    """Largest |r|"""
    bound: float
    """B_0 = lambda (|eta| + c)"""
    within_bound: bool
    density_term: float
    """Median of alpha lambda |log p_g - log p_g'| between the two groups of largest density: what B_0 competes with."""
    agreement: float
    """Share of samples whose group of largest margin is that of largest density (Bayes, equal priors)."""
    uniform_condition: float
    """Share of samples for which the condition of the proof holds with 2 B_0 in place of |r_g| + |r_g'|."""
    printed_condition: float
    """Share for which it holds as printed, with the remainders of the sample."""
    tight_condition: float
    """Share for which it holds with |r_g - r_g'|, in which the constant -lambda eta has gone."""
    agreement_where_met: float
    """Agreement where the tight condition holds (1 by the proof); nan where it never does."""
    agreement_elsewhere: float
    """Agreement where it does not; nan where it always does."""
    holds: bool
    """Identity, bound, and no disagreement where the condition is met."""


def bayes_alignment(
    *,
    dims: Sequence[int] = (6, 16, 64),
    ns: Sequence[int] = (56, 500),
    strengths: Sequence[float] = (1.0, 10.0),
    logit_scales: Sequence[float] = (0.0, 1.0, 100.0),
    densities: Sequence[Density] = ("slof",),
    k: int = 10,
    each: int = 250,
    seed: int = 0,
) -> list[BayesAlignment]:
    """Check m = tau w.z + alpha lambda log p + r, |r| <= B_0, and the condition under which argmax m is Bayes's.

    The condition of the proof, for the Bayes group g and every other g':
    alpha lambda (log p_g - log p_g') > |tau (w_g - w_g').z| + |r_g| + |r_g'|.

    The theorem's last sentence, "argmax is Bayes-aligned", leaves the condition out; the rows tell how often it is met.
    Since c is the largest error seen, decomposition and bound hold by construction: what is measured is their width.
    """
    rows = []
    for dim in dims:
        world = kent_groups(seed, dim=dim)
        for n in ns:
            for density in densities:
                measured = measure(world, n=n, k=k, each=each, density=density)
                for strength in strengths:
                    for logit_scale in logit_scales:
                        rows.append(_alignment(measured, density, n, k, strength, logit_scale))
    return rows


def _alignment(
    measured: Measured, density: Density, n: int, k: int, strength: float, logit_scale: float
) -> BayesAlignment:
    line, bound = measured.line, measured.bound(strength)
    margins, remainders = measured.margins(strength, logit_scale), measured.remainders(strength)
    logits = logit_scale * measured.cosines
    scaled = line.slope * strength * measured.log_density
    identity_error = float(np.abs(margins - (logits + scaled + remainders)).max())
    best = measured.log_density.argmax(axis=1)
    agrees = margins.argmax(axis=1) == best
    gap = _from_best(scaled, best)
    size = _of_best(np.abs(remainders), best) + np.abs(remainders)
    pull = np.abs(_from_best(logits, best))
    others = np.arange(margins.shape[1]) != best[:, None]

    def met(perturbation: FloatArray | float) -> BoolArray:
        return np.asarray(((gap > pull + perturbation) | ~others).all(axis=1))

    tight = met(np.abs(_from_best(remainders, best)))
    remainder = float(np.abs(remainders).max())
    within = remainder <= bound * (1 + ROUNDING) + ROUNDING
    return BayesAlignment(
        density=density,
        dim=measured.world.dim,
        n=n,
        k=k,
        strength=strength,
        logit_scale=logit_scale,
        samples=len(margins),
        slope=line.slope,
        intercept=line.intercept,
        identity_error=identity_error,
        remainder=remainder,
        bound=bound,
        within_bound=within,
        density_term=float(np.median(np.where(others, gap, np.inf).min(axis=1))),
        agreement=float(agrees.mean()),
        uniform_condition=float(met(2 * bound).mean()),
        printed_condition=float(met(size).mean()),
        tight_condition=float(tight.mean()),
        agreement_where_met=float(agrees[tight].mean()) if tight.any() else np.nan,
        agreement_elsewhere=float(agrees[~tight].mean()) if not tight.all() else np.nan,
        holds=bool(identity_error < ROUNDING * (1 + strength + logit_scale) and within and agrees[tight].all()),
    )


def _of_best(values: FloatArray, best: IntArray) -> FloatArray:
    """[N, 1] the value of each row's best group."""
    return np.take_along_axis(values, best[:, None], axis=1)


def _from_best(values: FloatArray, best: IntArray) -> FloatArray:
    """[N, G] value of the best group minus that of each."""
    return _of_best(values, best) - values


CHECKS = (Check("bayes_alignment", bayes_alignment, ("within_bound", "holds")),)
