"""The loss of a micro batch: an algorithm's pieces put together."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.loss_terms import clipped_objective, kl_estimate, sequence_log_ratio, truncated_correction
from agnostics.train.micro_batch import MicroBatch


@dataclass(frozen=True, slots=True)
class Loss:
    """`value` is a scalar and carries the gradient; for each of the N tokens: `ratio`, `clipped` and `kl`, (N,).

    `kl` is zero where the algorithm does not ask for it.
    """

    value: torch.Tensor
    ratio: torch.Tensor
    clipped: torch.Tensor
    kl: torch.Tensor


def micro_batch_loss(algorithm: Algorithm, logprobs: torch.Tensor, batch: MicroBatch) -> Loss:
    """L = -sum_t w_t c_t J_t + kl sum_t w_t D_t over the tokens of one micro batch, whose policy gives `logprobs` (N,).

    J is the objective, c the correction for the engine (1 where there is none), D the divergence and w the weights that
    were computed over the whole batch, so that micro batches add up to it.
    """
    log_ratio = _log_ratio(algorithm, logprobs, batch)
    value, clipped = _objective(algorithm, logprobs, log_ratio, batch)
    if algorithm.tis_cap:
        value = value * truncated_correction(batch.old, batch.behaviour, cap=algorithm.tis_cap)
    loss = -(batch.weights * value).sum()
    kl = torch.zeros_like(batch.weights)
    if algorithm.kl_coef:
        kl = kl_estimate(logprobs, batch.reference)
        loss = loss + algorithm.kl_coef * (batch.weights * kl).sum()
    return Loss(loss, log_ratio.detach().exp(), clipped, kl.detach())


def _log_ratio(algorithm: Algorithm, logprobs: torch.Tensor, batch: MicroBatch) -> torch.Tensor:
    if algorithm.ratio_level == "sequence":
        return sequence_log_ratio(logprobs, batch.old, batch.mask.sum(-1))
    return logprobs - batch.old


def _objective(
    algorithm: Algorithm, logprobs: torch.Tensor, log_ratio: torch.Tensor, batch: MicroBatch
) -> tuple[torch.Tensor, torch.Tensor]:
    """What is to be maximised, and where the clip took the gradient away: (N,) each."""
    if algorithm.objective is not None:
        value = algorithm.objective(logprobs, log_ratio, batch.advantages)
        return value, torch.zeros_like(value, dtype=torch.bool)
    found = clipped_objective(log_ratio, batch.advantages, clip_low=algorithm.clip_low, clip_high=algorithm.clip_high)
    return found.value, found.clipped
