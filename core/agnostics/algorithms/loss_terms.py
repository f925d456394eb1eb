"""What is maximised, token by token: importance ratios, their clip, the correction for the engine, the divergence.

Tensors hold one entry for each of the N tokens that the policy spoke, row by row: (N,) float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def sequence_log_ratio(logprobs: torch.Tensor, old: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """log s_i = mean_t (logprobs - old) over the tokens of sequence i, for each of its tokens: (N,).

    Zheng et al. 2025 (GSPO, equation 7). `lengths` (B,) says how many of the N tokens belong to each sequence. For each
    token on its own the log ratio is just `logprobs - old`.
    """
    import torch

    parts = torch.split(logprobs - old, lengths.tolist())
    return torch.cat([part.mean().expand(len(part)) for part in parts])


@dataclass(frozen=True, slots=True)
class ClippedObjective:
    """What `clipped_objective` found: `value` carries the gradient, `clipped` (bool) says where the clip took it."""

    value: torch.Tensor
    clipped: torch.Tensor


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


def truncated_correction(old: torch.Tensor, engine: torch.Tensor, *, cap: float) -> torch.Tensor:
    """min(exp(old - engine), cap): how much likelier a token was to the trainer than to the engine that sampled it.

    Truncated importance sampling (Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL
    training"). It weighs each token's objective where the ratio is against `old`, the trainer's log-probabilities
    before its first update on the batch; the cap bounds the variance.
    """
    return (old - engine).exp().clamp(max=cap)


def kl_estimate(logprobs: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """exp(reference - logprobs) - (reference - logprobs) - 1, an estimate of KL(policy || reference) for each token.

    The estimator k3 (Schulman 2020), as GRPO has it (Shao et al. 2024, equation 4): never negative, and unbiased for
    tokens that the policy samples.
    """
    distance = reference - logprobs
    return distance.exp() - distance - 1
