"""Terms of the loss for each token: importance ratios, clipping, truncated importance sampling, the KL estimate.

Tensors hold one entry for each of the N tokens that the policy sampled, row by row: (N,) float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def sequence_log_ratio(logprobs: torch.Tensor, old_logprobs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """log s_i = mean_t (logprobs - old_logprobs) over the tokens of sequence i, for each of its tokens: (N,).

    Zheng et al. 2025 (GSPO, equation 7). `lengths` (B,) says how many of the N tokens belong to each sequence. The
    token-level log ratio is `logprobs - old_logprobs`.
    """
    import torch

    parts = torch.split(logprobs - old_logprobs, lengths.tolist())
    return torch.cat([part.mean().expand(len(part)) for part in parts])


@dataclass(frozen=True, slots=True)
class ClippedObjective:
    """The clipped objective: `value` carries the gradient, `is_clipped` (bool) marks tokens without one."""

    value: torch.Tensor
    is_clipped: torch.Tensor


def clipped_objective(
    log_ratio: torch.Tensor, advantages: torch.Tensor, *, clip_low: float, clip_high: float
) -> ClippedObjective:
    """min(r A, clip(r, 1 - clip_low, 1 + clip_high) A) with r = exp(log_ratio), to be maximised.

    The paper, section 3.3, has one epsilon for both sides; Yu et al. 2025 (DAPO, equation 10, "clip-higher") set them
    apart. `log_ratio` and `advantages` have one shape, or shapes that broadcast.
    """
    ratio = log_ratio.exp()
    free, bounded = ratio * advantages, ratio.clamp(1 - clip_low, 1 + clip_high) * advantages
    return ClippedObjective(free.minimum(bounded), (bounded < free).detach())


def tis_weights(old_logprobs: torch.Tensor, rollout_logprobs: torch.Tensor, *, cap: float) -> torch.Tensor:
    """min(exp(old_logprobs - rollout_logprobs), cap): the ratio of the trainer's to the engine's probability.

    Truncated importance sampling (Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL
    training"). It weights each token's objective if the importance ratio is against `old_logprobs`, the trainer's
    before its first update on the batch; the cap bounds the variance.
    """
    return (old_logprobs - rollout_logprobs).exp().clamp(max=cap)


def kl_estimate(logprobs: torch.Tensor, reference_logprobs: torch.Tensor) -> torch.Tensor:
    """exp(d) - d - 1 with d = reference_logprobs - logprobs: an estimate of KL(policy || reference) for each token.

    The estimator k3 (Schulman 2020), as GRPO has it (Shao et al. 2024, equation 4): never negative, and unbiased for
    tokens that the policy samples.
    """
    distance = reference_logprobs - logprobs
    return distance.exp() - distance - 1
