"""Class scores of a block of queries: the paper's quotient, and the logit form of its theory."""

from __future__ import annotations

import math
import sys
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
        Similarities s_{y,a} [K, M, b] and s_y [K, b], float64.
    log_density
        log(D_{y,a} + epsilon) [K, M, b], written over; +inf for a group without references.
    """

    def __init__(self, groups: torch.Tensor, classes: torch.Tensor, log_density: torch.Tensor) -> None:
        import torch

        self.groups, self.classes = groups, classes
        absent = log_density == math.inf
        self.absent = absent if absent.any() else None
        relief = log_density.neg_()
        self.top = relief.amax(dim=(0, 1)).nan_to_num_(neginf=0.0)
        self.relief = relief.sub_(self.top).masked_fill_(absent, 0)
        self._reached, self._power = 0.0, torch.ones_like(self.relief)
        self._step, self._factor = math.nan, self.relief

    def at(self, strength: float) -> torch.Tensor:
        """Scores [3, K, b] by `TERMS`. The unit of the group terms is the largest (D + epsilon) ** -strength, that
        of the others the same or 1, whichever is larger."""
        import torch

        translated = self._power_at(strength) * self.groups
        if self.absent is not None:
            translated.masked_fill_(self.absent, 0)
        scores = translated.new_empty(len(TERMS), *self.classes.shape)
        both, group, average = scores
        unit = _unit(self.top.clamp_max(0).mul_(strength))
        torch.sum(translated, dim=1, out=average)
        average.mul_(unit).addcmul_(self.classes, _unit(self.top.clamp_min(0).mul_(-strength)))
        average.div_(translated.shape[1] + 1)
        if self.absent is not None:
            translated.masked_fill_(self.absent, -math.inf)
        torch.amax(translated, dim=1, out=group)
        torch.maximum(torch.mul(group, unit, out=both), average, out=both)
        return scores

    def _power_at(self, strength: float) -> torch.Tensor:
        """(D + epsilon) ** -strength [K, M, b] in its unit; ascending strengths in equal steps share an exponential."""
        step = strength - self._reached
        if step < 0:
            step, self._power = strength, self._power.fill_(1)
        if step != self._step:
            self._step, self._factor = step, (self.relief * step).exp_()
        self._reached = strength
        return self._power.mul_(self._factor)

    def unscaled(self, strength: float, terms: Terms) -> torch.Tensor:
        """Scores [K, b] in the unit 1."""
        top = self.top if terms == "group" else self.top.clamp_min(0)
        return self.at(strength)[TERMS.index(terms)] * _unit(strength * top)


class LogitScores:
    """Logit scores; parameters as for `RatioScores`, with similarities divided by the temperature."""

    def __init__(self, groups: torch.Tensor, classes: torch.Tensor, log_density: torch.Tensor) -> None:
        self.groups, self.classes = groups, classes
        self.absent = log_density == math.inf
        self.relief = log_density.neg_().masked_fill_(self.absent, 0)

    def at(self, strength: float) -> torch.Tensor:
        """Scores [3, K, b] by `TERMS`."""
        import torch

        translated = torch.add(self.groups, self.relief, alpha=strength).masked_fill_(self.absent, -math.inf)
        group = translated.amax(dim=1)
        average = torch.logsumexp(torch.cat([translated, self.classes[:, None]], dim=1), dim=1)
        average -= math.log(translated.shape[1] + 1)
        return torch.stack([torch.maximum(group, average), group, average])

    def unscaled(self, strength: float, terms: Terms) -> torch.Tensor:
        """Scores [K, b] as they are."""
        return self.at(strength)[TERMS.index(terms)]


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
