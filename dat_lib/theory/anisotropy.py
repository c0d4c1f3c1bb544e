"""Corollary 1: does the DAT margin hold the anisotropy term that cosine leaves out, and do constants not matter?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dat_lib.arrays import FloatArray
from dat_lib.choices import Density
from dat_lib.theory.groups import kent_groups
from dat_lib.theory.margin import measure
from dat_lib.theory.registry import Check

ROUNDING = 1e-8


@dataclass(frozen=True)
class AnisotropyTerm:
    """Corollary 1 for one group in one setting."""

    density: Density
    dim: int
    n: int
    k: int
    ellipticity: float
    group: int
    kappa: float
    beta: float
    log_constant: float
    """log c_d(kappa, beta)"""
    slope: float
    """alpha"""
    samples: int
    decomposition_error: float
    """Largest |m - r - (linear + anisotropy + alpha lambda log c_d)|: rounding."""
    printed_sign_error: float
    """The same with the paper's - alpha lambda log c_d: 2 alpha lambda |log c_d|."""
    linear_expected: float
    """alpha lambda kappa"""
    linear: float
    """Coefficient of <g1, z> in -lambda log D_g(z), regressed on it and on the quadratic term over the samples."""
    linear_error: float
    """Standard error"""
    quadratic_expected: float
    """alpha lambda beta"""
    quadratic: float
    """Coefficient of <g2, z>^2 - <g3, z>^2"""
    quadratic_error: float
    decisions_by_remainder: float
    """Share of all samples whose argmax over groups changes when r is left out (the paper: none)."""
    decisions_by_constant: float
    """Share whose argmax changes when alpha lambda log c_d is left out as well (the paper: none)."""
    decisions_by_printed_sign: float
    """Share whose argmax changes when the constant has the paper's sign in place of the right one."""
    reinstated: bool
    """The quadratic coefficient has the sign of beta by three standard errors; for beta = 0, is within three of 0."""


def anisotropy_terms(
    *,
    dims: Sequence[int] = (6, 16, 64),
    ellipticities: Sequence[float] = (-0.6, 0.0, 0.6),
    ns: Sequence[int] = (56, 500),
    densities: Sequence[Density] = ("slof",),
    k: int = 10,
    strength: float = 10.0,
    logit_scale: float = 1.0,
    each: int = 500,
    seed: int = 0,
) -> list[AnisotropyTerm]:
    """Check the decomposition of the margin, and whether it is SLOF that brings the quadratic term.

    m(z) = (tau w + alpha lambda kappa g1).z + alpha lambda beta (<g2, z>^2 - <g3, z>^2) + alpha lambda log c_d + r(z).

    The paper prints - alpha lambda log c_d (see `Kent`) and says that constants and r do not affect the argmax. A
    constant of one group does, unless all groups have the same kappa and beta, and r depends on z; the rows count
    how many decisions each changes. Whether SLOF itself, not its line through log p, holds the quadratic term is
    told by a regression of -lambda log D_g on <g1, z> and the quadratic term over the group's own samples.
    """
    rows = []
    for dim in dims:
        for ellipticity in ellipticities:
            world = kent_groups(seed, dim=dim, ellipticity=ellipticity)
            for n in ns:
                for density in densities:
                    measured = measure(world, n=n, k=k, each=each, density=density)
                    weight = measured.line.slope * strength
                    margins, remainders = measured.margins(strength, logit_scale), measured.remainders(strength)
                    coordinates = np.stack([group.coordinates(measured.points) for group in world.groups], axis=1)
                    axial = coordinates[..., 0]
                    quadratic = coordinates[..., 1] ** 2 - coordinates[..., 2] ** 2
                    kappa, beta, constant = (
                        np.array([getattr(group, name) for group in world.groups])
                        for name in ("kappa", "beta", "log_constant")
                    )
                    varying = logit_scale * measured.cosines + weight * (kappa * axial + beta * quadratic)
                    right, printed = varying + weight * constant, varying - weight * constant
                    decided = right.argmax(axis=1)
                    for index in range(len(world.groups)):
                        own = measured.of == index
                        (linear, square), (linear_error, square_error) = regress(
                            -strength * measured.log_sparsity[own, index],
                            np.stack([axial[own, index], quadratic[own, index]], axis=1),
                        )
                        shape = np.sign(beta[index])
                        rows.append(
                            AnisotropyTerm(
                                density=density,
                                dim=dim,
                                n=n,
                                k=k,
                                ellipticity=ellipticity,
                                group=index,
                                kappa=float(kappa[index]),
                                beta=float(beta[index]),
                                log_constant=float(constant[index]),
                                slope=measured.line.slope,
                                samples=int(own.sum()),
                                decomposition_error=_largest(margins - remainders - right, index),
                                printed_sign_error=_largest(margins - remainders - printed, index),
                                linear_expected=float(weight * kappa[index]),
                                linear=linear,
                                linear_error=linear_error,
                                quadratic_expected=float(weight * beta[index]),
                                quadratic=square,
                                quadratic_error=square_error,
                                decisions_by_remainder=float((margins.argmax(axis=1) != decided).mean()),
                                decisions_by_constant=float((varying.argmax(axis=1) != decided).mean()),
                                decisions_by_printed_sign=float((printed.argmax(axis=1) != decided).mean()),
                                reinstated=bool(
                                    square * shape > 3 * square_error if shape else abs(square) < 3 * square_error
                                ),
                            )
                        )
    return rows


def regress(response: FloatArray, predictors: FloatArray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Coefficients of predictors [N, p] for a response [N], beside an intercept, and their standard errors."""
    count, width = predictors.shape
    if count < width + 2:
        raise ValueError(f"{width} coefficients with errors need {width + 2} samples or more, not {count}")
    centred = predictors - predictors.mean(axis=0)
    products = np.einsum("ij,ik->jk", centred, centred)
    if np.linalg.matrix_rank(products, hermitian=True) < width:
        raise ValueError("the predictors depend on each other, so no coefficients can be told apart")
    inverse = np.linalg.inv(products)
    about = response - response.mean()
    coefficients = inverse @ np.einsum("ij,i->j", centred, about)
    residual = about - np.einsum("ij,j->i", centred, coefficients)
    errors = np.sqrt(np.diag(inverse) * float((residual**2).sum()) / (count - width - 1))
    return tuple(map(float, coefficients)), tuple(map(float, errors))


def _largest(differences: FloatArray, group: int) -> float:
    return float(np.abs(differences[:, group]).max())


CHECKS = (Check("anisotropy", anisotropy_terms, ("reinstated",)),)
