"""The appendix's surrogate risks: do they fall from the logit to the DAT margin, and where does the condition fail?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from dat_lib.arrays import FloatArray, IntArray
from dat_lib.choices import Density
from dat_lib.theory.groups import kent_groups
from dat_lib.theory.margin import Measured, measure
from dat_lib.theory.registry import Check

Loss: TypeAlias = Literal["logistic", "hinge"]
Reading: TypeAlias = Literal["own samples", "one versus rest"]
"""Over which samples the risk of group g is taken. The paper conditions on G = g, where Y is always +1, and calls Y
the label of a one-versus-rest reduction, which needs samples of other groups, with Y = -1 (here of half the weight)."""
Measure: TypeAlias = Literal["surface", "uniform"]
"""What log p is the density against: the surface measure, or the uniform distribution. The margin does not depend on
it (eta makes up for it), the condition does."""

STEPS = np.linspace(0, 1, 41)
"""Where the path from the logit to the margin is looked at."""


@dataclass(frozen=True)
class SurrogateRisk:
    """The theorem of the appendix for one group in one setting."""

    loss: Loss
    reading: Reading
    measure: Measure
    density: Density
    dim: int
    n: int
    k: int
    strength: float
    """lambda"""
    logit_scale: float
    """tau"""
    group: int
    risk_before: float
    """R(m_0), of the logit alone."""
    risk_after: float
    """R(m), of the DAT margin."""
    decreased: bool
    slope: float
    """alpha"""
    hard_mass: float
    """alpha lambda c_g, c_g the smallest over theta of E[weight Y log p_g]. The assumption asks for c_g > 0."""
    remainder: float
    """B_g: the largest |r|."""
    condition: float
    """alpha lambda c_g - B_g. The theorem asks for it to be above 0."""
    assumption_met: bool
    condition_met: bool
    contradicted: bool
    """The condition is met and the risk has not fallen: never, if the theorem holds."""


def surrogate_risks(
    *,
    dims: Sequence[int] = (6, 16, 64),
    strengths: Sequence[float] = (1.0, 10.0),
    logit_scales: Sequence[float] = (0.0, 1.0, 10.0, 100.0),
    densities: Sequence[Density] = ("slof", "knn"),
    n: int = 56,
    k: int = 10,
    each: int = 250,
    seed: int = 0,
) -> list[SurrogateRisk]:
    """Check the strict decrease of logistic and hinge risks, for each group of a Kent world.

    m_theta = m_0 + theta (alpha lambda L + r), m_0 = tau w_g.z, L = log p_g. With
    E[sigma(-Y m_theta) Y L] >= c_g > 0 and E[1{Y m_theta < 1} Y L] >= c_g for every theta in [0, 1], and |r| <= B_g,
    the theorem says that alpha lambda c_g > B_g makes both risks fall. Each loss is given its own c_g here, the
    larger claim. Where the condition fails the theorem is silent, and the rows tell whether the risk fell all the same.

    On a group's own samples SLOF is above 1 more often than below, so that -lambda log D lowers their margins; the
    k-NN distance is below 1 on the sphere and raises every margin. Only against the samples of other groups do the
    risks say something of DAT.

    The sum alpha lambda L + r is -lambda log D exactly, whatever alpha, eta and the measure of the density; c_g
    and B_g are not, so the condition can be met or missed for one and the same margin.
    """
    rows = []
    for dim in dims:
        for density in densities:
            measured = measure(kent_groups(seed, dim=dim), n=n, k=k, each=each, density=density)
            for strength in strengths:
                for logit_scale in logit_scales:
                    for group in range(len(measured.world.groups)):
                        for reading in get_args(Reading):
                            rows.extend(_rows(measured, reading, density, n, k, strength, logit_scale, group))
    return rows


def logistic(margin: FloatArray) -> FloatArray:
    """log(1 + exp(-t))"""
    loss: FloatArray = np.logaddexp(0, -margin)
    return loss


def hinge(margin: FloatArray) -> FloatArray:
    """max(0, 1 - t)"""
    return np.maximum(0, 1 - margin)


def logistic_weight(margin: FloatArray) -> FloatArray:
    """sigma(-t), minus the derivative of the loss."""
    weight: FloatArray = np.exp(-np.logaddexp(0, margin))
    return weight


def hinge_weight(margin: FloatArray) -> FloatArray:
    """1 where t < 1, minus a derivative of the loss."""
    return (margin < 1).astype(np.float64)


def log_sphere_area(dim: int) -> float:
    """Logarithm of the surface of the unit sphere of R^d."""
    return math.log(2) + dim / 2 * math.log(math.pi) - math.lgamma(dim / 2)


@dataclass(frozen=True)
class PathRisk:
    """Risks at both ends of the path from m_0 to m, and the quantities of the condition."""

    before: float
    after: float
    hard_mass: float
    """alpha lambda c_g"""
    remainder: float
    """B_g"""


def path_risk(
    loss: Loss, label: FloatArray, share: FloatArray, logit: FloatArray, scaled: FloatArray, remainder: FloatArray
) -> PathRisk:
    """Risks of Y m_theta, m_theta = m_0 + theta (alpha lambda L + r), over N samples.

    Parameters
    ----------
    label, share
        Y in -1, 1 and weights that sum to 1, [N].
    logit, scaled, remainder
        m_0, alpha lambda L and r, [N].
    """
    of, weight_of = (logistic, logistic_weight) if loss == "logistic" else (hinge, hinge_weight)
    added = scaled + remainder
    return PathRisk(
        before=float((share * of(label * logit)).sum()),
        after=float((share * of(label * (logit + added))).sum()),
        hard_mass=min(
            float((share * weight_of(label * (logit + theta * added)) * label * scaled).sum()) for theta in STEPS
        ),
        remainder=float(np.abs(remainder).max()),
    )


def _rows(
    measured: Measured,
    reading: Reading,
    density: Density,
    n: int,
    k: int,
    strength: float,
    logit_scale: float,
    group: int,
) -> list[SurrogateRisk]:
    label, share = _labels(measured.of, group, reading)
    chosen = share > 0
    weight = measured.line.slope * strength
    added = -strength * measured.log_sparsity[chosen, group]
    areas: dict[Measure, float] = {"surface": 0.0, "uniform": log_sphere_area(measured.world.dim)}
    rows = []
    for loss in get_args(Loss):
        for base, area in areas.items():
            scaled = weight * (measured.log_density[chosen, group] + area)
            logit = logit_scale * measured.cosines[chosen, group]
            risk = path_risk(loss, label[chosen], share[chosen], logit, scaled, added - scaled)
            met = risk.hard_mass > 0 and risk.hard_mass > risk.remainder
            rows.append(
                SurrogateRisk(
                    loss=loss,
                    reading=reading,
                    measure=base,
                    density=density,
                    dim=measured.world.dim,
                    n=n,
                    k=k,
                    strength=strength,
                    logit_scale=logit_scale,
                    group=group,
                    risk_before=risk.before,
                    risk_after=risk.after,
                    decreased=risk.after < risk.before,
                    slope=measured.line.slope,
                    hard_mass=risk.hard_mass,
                    remainder=risk.remainder,
                    condition=risk.hard_mass - risk.remainder,
                    assumption_met=risk.hard_mass > 0,
                    condition_met=met,
                    contradicted=met and not risk.after < risk.before,
                )
            )
    return rows


def _labels(of: IntArray, group: int, reading: Reading) -> tuple[FloatArray, FloatArray]:
    """Y [N] and the weight of every sample [N], which sum to 1."""
    own = of == group
    label = np.where(own, 1.0, -1.0)
    if reading == "own samples":
        return label, own / own.sum()
    return label, np.where(own, 0.5 / own.sum(), 0.5 / (~own).sum())


CHECKS = (Check("surrogate_risks", surrogate_risks, ("decreased", "assumption_met", "condition_met", "contradicted")),)
