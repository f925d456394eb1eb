"""The settings of an algorithm that decide its loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

RatioLevel = Literal["token", "sequence"]
Clipping = Literal["objective", "weight"]

Objective = Callable[["torch.Tensor", "torch.Tensor", "torch.Tensor"], "torch.Tensor"]
"""(log-probabilities, log ratios, advantages) of N tokens -> the objective to maximise; each (N,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSettings:
    """How the loss is made of importance ratios, advantages and loss weights."""

    ratio_level: RatioLevel = "token"
    """An importance ratio for each token, or for each sequence (the geometric mean over its tokens)."""
    clipping: Clipping = "objective"
    """PPO's objective, where a token beyond the clip has no gradient; or a clipped ratio that is a constant weight of
    the token's log-probability, so that every token has one."""
    clip_low: float = 0.2
    """The distance below 1 beyond which the importance ratio is clipped."""
    clip_high: float = 0.2
    """The distance above 1 beyond which the importance ratio is clipped."""
    tis_cap: float = 0.0
    """Above 0: truncated importance sampling. The importance ratio is against the trainer before its first update on
    the batch, and each token is weighted by its ratio between trainer and engine at that time, up to this cap."""
    mis_high: float = 0.0
    """Above 0: masked importance sampling. As `tis_cap`, but a token whose ratio between trainer and engine is above
    this, or below `mis_low`, has weight 0."""
    mis_low: float = 0.0
    """The lowest ratio between trainer and engine that `mis_high` leaves unmasked."""
    kl_coef: float = 0.0
    """The coefficient of the KL divergence from the starting model."""
    entropy_coef: float = 0.0
    """The coefficient of the entropy of the policy at each token, which is added to the objective."""
    objective: Objective | None = None
    """Replaces `clipped_objective`, which `clip_low` and `clip_high` configure."""

    @property
    def needs_old_logprobs(self) -> bool:
        """Whether the importance ratio is against the trainer before its first update on the batch."""
        return self.tis_cap > 0 or self.mis_high > 0
