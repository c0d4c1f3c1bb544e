"""Class scores of a block of queries: the paper's quotient, and the logit form of its theory."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    import torch

Terms: TypeAlias = Literal["both", "group", "average"]
Score: TypeAlias = Literal["ratio", "logit"]

TERMS: tuple[Terms, ...] = get_args(Terms)
"""The order of terms in arrays of scores."""


class RatioScores:
    """Quotient scores, in units of each query's largest, so that none overflows or vanishes.

    Parameters
    ----------
    groups, classes
        Similarities s_{y,a} [M, K, b] and s_y [K, b], float64.
    log_density
        log(D_{y,a} + epsilon) [M, K, b], written over; +inf for a group without references.
    """

    def __init__(self, groups: torch.Tensor, classes: torch.Tensor, log_density: torch.Tensor) -> None:
        self.groups, self.classes = groups, classes
        absent = log_density == math.inf
        self.absent = absent if absent.any() else None
        relief = log_density.neg_()
        self.top = relief.amax(dim=(0, 1)).nan_to_num_(neginf=0.0)
        # An absent group stays at minus infinity, so that any power of it but the 0th is 0.
        self.relief = relief.sub_(self.top)

    def at(self, strengths: Sequence[float]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Scores [S, K, b] by `TERMS`. The unit of the group terms is the largest (D + epsilon) ** -strength, that
        of the others the same or 1, whichever is larger."""
        import torch

        average, group = (self.classes.new_empty(len(strengths), *self.classes.shape) for _ in range(2))
        for position, translated in enumerate(self._translated(strengths)):
            torch.sum(translated, dim=0, out=average[position])
            if self.absent is not None:
                translated = translated.masked_fill(self.absent, -math.inf)
            torch.amax(translated, dim=0, out=group[position])
        power = self.classes.new_tensor(strengths)[:, None, None]
        unit = _unit(self.top.clamp_max(0) * power)
        terms = len(self.groups) + 1
        average.mul_(unit / terms).addcmul_(self.classes, _unit(self.top.clamp_min(0) * -power).div_(terms))
        return torch.maximum(group * unit, average), group, average

    def unscaled(self, strength: float, terms: Terms) -> torch.Tensor:
        """Scores [K, b] in the unit 1."""
        top = self.top if terms == "group" else self.top.clamp_min(0)
        return self.at([strength])[TERMS.index(terms)][0] * _unit(strength * top)

    def _translated(self, strengths: Sequence[float]) -> Iterator[torch.Tensor]:
        """s_{y,a} (D + epsilon) ** -strength [M, K, b] in its unit, 0 where absent, written over by the next.

        Ascending strengths in equal steps share an exponential.
        """
        import torch

        translated, reached = torch.empty_like(self.groups), math.inf
        step, factor = math.nan, self.relief
        for strength in strengths:
            if strength < reached:
                translated.copy_(self.groups)
                if self.absent is not None:
                    translated.masked_fill_(self.absent, 0)
                reached = 0.0
            if strength > reached:
                if strength - reached != step:
                    step = strength - reached
                    factor = (self.relief * step).exp_()
                translated.mul_(factor)
                reached = strength
            yield translated


class LogitScores:
    """Logit scores; parameters as for `RatioScores`, with similarities divided by the temperature."""

    def __init__(self, groups: torch.Tensor, classes: torch.Tensor, log_density: torch.Tensor) -> None:
        self.groups, self.classes = groups, classes
        self.absent = log_density == math.inf
        self.relief = log_density.neg_().masked_fill_(self.absent, 0)

    def at(self, strengths: Sequence[float]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Scores [S, K, b] by `TERMS`."""
        import torch

        average, group = (self.classes.new_empty(len(strengths), *self.classes.shape) for _ in range(2))
        for position, strength in enumerate(strengths):
            translated = torch.add(self.groups, self.relief, alpha=strength).masked_fill_(self.absent, -math.inf)
            torch.amax(translated, dim=0, out=group[position])
            torch.logsumexp(torch.cat([translated, self.classes[None]]), dim=0, out=average[position])
        average -= math.log(len(self.groups) + 1)
        return torch.maximum(group, average), group, average

    def unscaled(self, strength: float, terms: Terms) -> torch.Tensor:
        """Scores [K, b] as they are."""
        return self.at([strength])[TERMS.index(terms)][0]


def log_sum(logarithms: torch.Tensor, number: float) -> torch.Tensor:
    """log(exp(logarithms) + number), number > 0; several times as fast as `logaddexp`."""
    import torch

    constant = math.log(number)
    rest = (logarithms - constant).abs_().neg_().exp_().log1p_()
    return torch.clamp_min(logarithms, constant).add_(rest)


def first_largest(scores: torch.Tensor) -> torch.Tensor:
    """[..., b] which of K scores [..., K, b] is the largest, the first where several are.

    Whole-row operations: `argmax` over such an axis takes ten times as long.
    """
    import torch

    count = scores.shape[-2]
    down = torch.arange(count, 0, -1, dtype=scores.dtype, device=scores.device)
    largest = torch.eq(scores, scores.amax(dim=-2, keepdim=True), out=torch.empty_like(scores)).mul_(down[:, None])
    return count - largest.amax(dim=-2).long()


def _unit(logarithm: torch.Tensor) -> torch.Tensor:
    """exp, kept above 0 so that minus infinity times it stays what it is."""
    return logarithm.exp_().clamp_min_(sys.float_info.min)
