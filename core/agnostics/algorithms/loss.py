"""The loss of a micro batch: an algorithm's terms put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from agnostics.algorithms.loss_terms import clipped_objective, kl_estimate, sequence_log_ratio, tis_weights
from agnostics.algorithms.micro_batch import MicroBatch

if TYPE_CHECKING:
    from agnostics.algorithms.algorithm import Algorithm


@dataclass(frozen=True, slots=True)
class Loss:
    """`value` is a scalar and carries the gradient; `ratio`, `is_clipped` and `kl` are for each of N tokens, (N,).

    `kl` is zero without a KL term.
    """

    value: torch.Tensor
    ratio: torch.Tensor
    is_clipped: torch.Tensor
    kl: torch.Tensor


def micro_batch_loss(algorithm: Algorithm, logprobs: torch.Tensor, batch: MicroBatch) -> Loss:
    """L = -sum_t w_t c_t J_t + kl_coef sum_t w_t D_t over the tokens of one micro batch with `logprobs` (N,).

    J is the objective, c the truncated importance weight (1 without `tis_cap`), D the KL estimate and w the loss
    weights, which were computed over the whole update, so that micro batches add up to it.
    """
    log_ratio = _log_ratio(algorithm, logprobs, batch)
    value, is_clipped = _objective(algorithm, logprobs, log_ratio, batch)
    if algorithm.tis_cap:
        value = value * tis_weights(batch.old_logprobs, batch.rollout_logprobs, cap=algorithm.tis_cap)
    loss = -(batch.loss_weights * value).sum()
    kl = torch.zeros_like(batch.loss_weights)
    if algorithm.kl_coef:
        kl = kl_estimate(logprobs, batch.reference_logprobs)
        loss = loss + algorithm.kl_coef * (batch.loss_weights * kl).sum()
    return Loss(loss, log_ratio.detach().exp(), is_clipped, kl.detach())


def _log_ratio(algorithm: Algorithm, logprobs: torch.Tensor, batch: MicroBatch) -> torch.Tensor:
    if algorithm.ratio_level == "sequence":
        return sequence_log_ratio(logprobs, batch.old_logprobs, batch.mask.sum(-1))
    return logprobs - batch.old_logprobs


def _objective(
    algorithm: Algorithm, logprobs: torch.Tensor, log_ratio: torch.Tensor, batch: MicroBatch
) -> tuple[torch.Tensor, torch.Tensor]:
    """The objective to maximise, and whether clipping removes the gradient: (N,) each."""
    if algorithm.objective is not None:
        value = algorithm.objective(logprobs, log_ratio, batch.advantages)
        return value, torch.zeros_like(value, dtype=torch.bool)
    clipped = clipped_objective(log_ratio, batch.advantages, clip_low=algorithm.clip_low, clip_high=algorithm.clip_high)
    return clipped.value, clipped.is_clipped
