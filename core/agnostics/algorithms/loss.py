"""The loss of a micro batch: its terms for each token, and their sum as an algorithm defines it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import torch

from agnostics.algorithms.loss_settings import LossSettings
from agnostics.types.rollout import Rollout


def sequence_log_ratio(logprobs: torch.Tensor, old_logprobs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """log s_i = mean_t (logprobs - old_logprobs) over the tokens of sequence i, for each of its tokens: (N,).

    Zheng et al. 2025 (GSPO, equation 7). `lengths` (B,) says how many of the N tokens belong to each sequence. The
    token-level log ratio is `logprobs - old_logprobs`.
    """
    parts = torch.split(logprobs - old_logprobs, lengths.tolist())
    return torch.cat([part.mean().expand(len(part)) for part in parts])


@dataclass(frozen=True, slots=True)
class ClippedObjective:
    """A clipped objective: `value` carries the gradient, `is_clipped` (bool) marks the tokens that the clip changes."""

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


def clipped_weight_objective(
    logprobs: torch.Tensor, log_ratio: torch.Tensor, advantages: torch.Tensor, *, clip_low: float, clip_high: float
) -> ClippedObjective:
    """sg(clip(r, 1 - clip_low, 1 + clip_high)) A log p with r = exp(log_ratio), to be maximised.

    CISPO (MiniMax 2025, equations 4 and 5): the ratio is a weight without a gradient (sg), so that a token beyond the
    clip keeps the gradient of its log-probability.
    """
    ratio = log_ratio.detach().exp()
    weight = ratio.clamp(1 - clip_low, 1 + clip_high)
    return ClippedObjective(weight * advantages * logprobs, weight != ratio)


def tis_weights(old_logprobs: torch.Tensor, rollout_logprobs: torch.Tensor, *, cap: float) -> torch.Tensor:
    """min(exp(old_logprobs - rollout_logprobs), cap): the ratio of the trainer's to the engine's probability.

    Truncated importance sampling (Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL
    training"). It weights each token's objective if the importance ratio is against `old_logprobs`, the trainer's
    before its first update on the batch; the cap bounds the variance.
    """
    return (old_logprobs - rollout_logprobs).exp().clamp(max=cap)


def mis_weights(old_logprobs: torch.Tensor, rollout_logprobs: torch.Tensor, *, low: float, high: float) -> torch.Tensor:
    """r = exp(old_logprobs - rollout_logprobs) where low <= r <= high, and 0 elsewhere.

    Masked importance sampling: IcePop's M (Ling team 2025, "Every Step Evolves", arXiv:2510.18855; Zhao et al. 2025,
    "Small Leak Can Sink a Great Ship"), which is as `tis_weights`, but a token on which trainer and engine differ too
    much is left out instead of bounded. It still counts in the loss weights.
    """
    ratio = (old_logprobs - rollout_logprobs).exp()
    return ratio.where((ratio >= low) & (ratio <= high), 0.0)


def kl_estimate(logprobs: torch.Tensor, reference_logprobs: torch.Tensor) -> torch.Tensor:
    """exp(d) - d - 1 with d = reference_logprobs - logprobs: an estimate of KL(policy || reference) for each token.

    The estimator k3 (Schulman 2020), as GRPO has it (Shao et al. 2024, equation 4): never negative, and unbiased for
    tokens that the policy samples.
    """
    distance = reference_logprobs - logprobs
    return distance.exp() - distance - 1


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Rollouts with one prompt, side by side: `prompt_ids` is (P,), `token_ids` and `mask` follow it, (B, L).

    Rows are padded on the right. The other fields hold one entry for each of the N tokens that the policy sampled, row
    by row: (N,) float32. `rollout_logprobs` are the engine's, `old_logprobs` those of the importance ratio's
    denominator, `reference_logprobs` zero without a reference model.
    """

    prompt_ids: torch.Tensor
    token_ids: torch.Tensor
    mask: torch.Tensor
    rollout_logprobs: torch.Tensor
    old_logprobs: torch.Tensor
    reference_logprobs: torch.Tensor
    policy_versions: torch.Tensor
    advantages: torch.Tensor
    loss_weights: torch.Tensor

    def to(self, device: torch.device) -> MicroBatch:
        """The same on `device`."""
        return MicroBatch(*(getattr(self, field.name).to(device) for field in fields(self)))


def stack(rollouts: Sequence[Rollout]) -> MicroBatch:
    """Rollouts with one prompt as one micro batch. An advantage of None counts as 0."""
    tokens = [rollout.token_ids for rollout in rollouts]
    token_ids = torch.zeros(len(rollouts), max(map(len, tokens)), dtype=torch.long)
    mask = torch.zeros_like(token_ids)
    for row, (rollout, ids) in enumerate(zip(rollouts, tokens, strict=True)):
        token_ids[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = torch.tensor(rollout.mask)
    prompt_ids = torch.tensor(rollouts[0].prompt_ids)
    columns = torch.tensor([entry for rollout in rollouts for entry in _per_token(rollout)], dtype=torch.float32)
    return MicroBatch(prompt_ids, token_ids, mask, *columns.reshape(-1, 6).T.contiguous())


def split_by_size(rollouts: Sequence[Rollout], max_tokens: int, *, prompt_once: bool = True) -> list[list[Rollout]]:
    """The rollouts of each micro batch, the largest first: ranks that take turns get about as many tokens each."""
    batches = split(rollouts, max_tokens, prompt_once=prompt_once)
    return sorted(batches, key=lambda batch: _num_tokens(batch, prompt_once=prompt_once), reverse=True)


def split(rollouts: Sequence[Rollout], max_tokens: int, *, prompt_once: bool = True) -> Iterator[list[Rollout]]:
    """The rollouts by prompt and length, at most `max_tokens` tokens (or one rollout) at a time.

    The prompt counts once for all its rollouts, without padding; or for each of them, with padding.
    """
    by_prompt = defaultdict[tuple[int, ...], list[Rollout]](list)
    for rollout in rollouts:
        by_prompt[rollout.prompt_ids].append(rollout)
    for group in by_prompt.values():
        chosen: list[Rollout] = []
        for rollout in sorted(group, key=_length):
            if chosen and _num_tokens([*chosen, rollout], prompt_once=prompt_once) > max_tokens:
                yield chosen
                chosen = []
            chosen.append(rollout)
        yield chosen


def _num_tokens(rollouts: Sequence[Rollout], *, prompt_once: bool) -> int:
    """The tokens of one micro batch."""
    prompt, lengths = len(rollouts[0].prompt_ids), [_length(rollout) for rollout in rollouts]
    return prompt + sum(lengths) if prompt_once else len(rollouts) * (prompt + max(lengths))


def _length(rollout: Rollout) -> int:
    return sum(len(segment.token_ids) for segment in rollout.segments)


def _per_token(rollout: Rollout) -> Iterator[tuple[float, ...]]:
    """The last six fields of a micro batch for each token that the policy sampled."""
    logprobs = rollout.sampled_logprobs
    old, reference = rollout.old_logprobs or logprobs, rollout.reference_logprobs or [0.0] * len(logprobs)
    advantages = rollout.token_advantages
    for columns in zip(logprobs, old, reference, rollout.sampled_versions, advantages, strict=True):
        yield *columns, rollout.loss_weight


@dataclass(frozen=True, slots=True)
class Loss:
    """`value` is a scalar and carries the gradient; `ratio`, `is_clipped` and `kl` are for each of N tokens, (N,).

    `kl` is zero without a KL term.
    """

    value: torch.Tensor
    ratio: torch.Tensor
    is_clipped: torch.Tensor
    kl: torch.Tensor


def micro_batch_loss(
    settings: LossSettings, logprobs: torch.Tensor, batch: MicroBatch, entropies: torch.Tensor | None = None
) -> Loss:
    """L = -sum_t w_t c_t J_t + kl_coef sum_t w_t D_t - entropy_coef sum_t w_t H_t over the tokens of one micro batch.

    J is the objective, c the truncated or masked importance weight (1 without `tis_cap` and `mis_high`), D the KL
    estimate, H the entropy of the policy (Schulman et al. 2017, equation 9) and w the loss weights, which were computed
    over the whole update, so that micro batches add up to it. `logprobs` and `entropies` are (N,); only an entropy term
    needs the latter, with a gradient. Raises ValueError if it is missing.
    """
    log_ratio = _log_ratio(settings, logprobs, batch)
    value, is_clipped = _objective(settings, logprobs, log_ratio, batch)
    loss = -(batch.loss_weights * _corrected(settings, value, batch)).sum()
    kl = torch.zeros_like(batch.loss_weights)
    if settings.kl_coef:
        kl = kl_estimate(logprobs, batch.reference_logprobs)
        loss = loss + settings.kl_coef * (batch.loss_weights * kl).sum()
    if settings.entropy_coef:
        if entropies is None or not entropies.requires_grad:
            raise ValueError("an entropy term needs entropies with a gradient: set train.entropy_coef")
        loss = loss - settings.entropy_coef * (batch.loss_weights * entropies).sum()
    return Loss(loss, log_ratio.detach().exp(), is_clipped, kl.detach())


def _corrected(settings: LossSettings, value: torch.Tensor, batch: MicroBatch) -> torch.Tensor:
    """The objective with the weights for what differs between trainer and engine."""
    old, rollout = batch.old_logprobs, batch.rollout_logprobs
    if settings.tis_cap:
        return value * tis_weights(old, rollout, cap=settings.tis_cap)
    if settings.mis_high:
        return value * mis_weights(old, rollout, low=settings.mis_low, high=settings.mis_high)
    return value


def _log_ratio(settings: LossSettings, logprobs: torch.Tensor, batch: MicroBatch) -> torch.Tensor:
    if settings.ratio_level == "sequence":
        return sequence_log_ratio(logprobs, batch.old_logprobs, batch.mask.sum(-1))
    return logprobs - batch.old_logprobs


def _objective(
    settings: LossSettings, logprobs: torch.Tensor, log_ratio: torch.Tensor, batch: MicroBatch
) -> tuple[torch.Tensor, torch.Tensor]:
    """The objective to maximise, and whether the clip changes it: (N,) each."""
    if settings.objective is not None:
        value = settings.objective(logprobs, log_ratio, batch.advantages)
        return value, torch.zeros_like(value, dtype=torch.bool)
    bounds = {"clip_low": settings.clip_low, "clip_high": settings.clip_high}
    if settings.clipping == "weight":
        clipped = clipped_weight_objective(logprobs, log_ratio, batch.advantages, **bounds)
    else:
        clipped = clipped_objective(log_ratio, batch.advantages, **bounds)
    return clipped.value, clipped.is_clipped
