"""The DAT margin in logit space and the remainder that Assumption 1 leaves of it, on Kent groups."""

from __future__ import annotations

from dataclasses import dataclass

from dat_lib.arrays import FloatArray, IntArray
from dat_lib.choices import Density
from dat_lib.theory.fidelity import Line, fit_line
from dat_lib.theory.groups import KentGroups, sparsity


@dataclass(frozen=True)
class Measured:
    """Queries of a world measured in the references of its G groups, and the line of Assumption 1 through them."""

    world: KentGroups
    of: IntArray
    """[N] the group each query is a sample of."""
    points: FloatArray
    """[N, d]"""
    cosines: FloatArray
    """[N, G] w_g . z"""
    log_density: FloatArray
    """[N, G] log p_g(z)"""
    log_sparsity: FloatArray
    """[N, G] log D_g(z)"""
    line: Line
    """One alpha and eta for all groups, as Assumption 1 has them."""

    @property
    def errors(self) -> FloatArray:
        """[N, G] epsilon_g(z) = log D + alpha log p - eta."""
        errors: FloatArray = self.log_sparsity + self.line.slope * self.log_density - self.line.intercept
        return errors

    def margins(self, strength: float, logit_scale: float) -> FloatArray:
        """[N, G] m_g(z) = tau w_g . z - lambda log D_g(z)."""
        margins: FloatArray = logit_scale * self.cosines - strength * self.log_sparsity
        return margins

    def remainders(self, strength: float) -> FloatArray:
        """[N, G] r_g(z) = -lambda eta - lambda epsilon_g(z)."""
        remainders: FloatArray = -strength * self.line.intercept - strength * self.errors
        return remainders

    def bound(self, strength: float) -> float:
        """B_0 = lambda (|eta| + c)."""
        return strength * (abs(self.line.intercept) + self.line.residual_bound)


def measure(world: KentGroups, *, n: int, k: int, each: int, density: Density = "slof") -> Measured:
    """Measure `each` queries of every group in n references of every group."""
    if each < 1:
        raise ValueError(f"each group needs 1 query or more, not {each}")
    points, of = world.queries(each)
    log_density = world.log_densities(points)
    log_sparsity = sparsity(world.references(n), points, k, density)
    return Measured(
        world=world,
        of=of,
        points=points,
        cosines=world.cosines(points),
        log_density=log_density,
        log_sparsity=log_sparsity,
        line=fit_line(log_sparsity.ravel(), log_density.ravel()),
    )
