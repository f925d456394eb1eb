"""Scoring: length penalties, advantages, filters, batches and loss weights, a function for each equation or rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Literal

from agnostics.types.rollout import Rollout, RolloutGroup

_CACHE = 0.2
"""The part of the limit over which DAPO's penalty grows: 4,096 of 20,480 tokens in its section 4.1."""
_SOFT_LIMIT = 0.5
"""The length, as a fraction of the limit, at which CWM's penalty begins early in training; the choice is ours."""
_FADED = 0.5
"""The part of the training after which CWM's penalty is gone; the choice is ours."""


@dataclass(frozen=True, slots=True)
class CompletionLength:
    """The sampled `tokens` of a completion of at most `limit`, when `progress` (0 to 1) of the training is done."""

    tokens: int
    limit: int
    progress: float


def soft_punishment(reward: float, length: CompletionLength) -> float:
    """The reward plus DAPO's soft overlong punishment (Yu et al. 2025, equation 13).

    With |y| tokens sampled of at most L, and C = 0.2 L: 0 where |y| <= L - C, -1 where |y| >= L, and
    (L - C - |y|) / C between.
    """
    cache = _CACHE * length.limit
    return reward + min(0.0, max(-1.0, (length.limit - cache - length.tokens) / cache))


def fading_penalty(reward: float, length: CompletionLength) -> float:
    """The reward with CWM's penalty for long completions in the first part of the training.

    Code World Model, section 5.4, "Length reward scheduling": between a soft limit and the limit L the reward of a
    correct completion falls along a line, here from R to 0, so that it stays positive below L; the soft limit rises
    from L/2 to L over the first half of the training, after which there is no penalty.
    """
    risen = min(1.0, length.progress / _FADED)
    soft = length.limit * (_SOFT_LIMIT + (1.0 - _SOFT_LIMIT) * risen)
    if reward <= 0 or length.tokens <= soft or risen == 1.0:
        return reward
    return reward * max(0.0, (length.limit - length.tokens) / (length.limit - soft))


def group_advantages(
    rewards: Sequence[float], *, normalize_by_std: bool = True, weights: Sequence[float] | None = None
) -> list[float]:
    """The advantages of one group of G rollouts of the same prompt, from their `rewards`: (G,) -> (G,).

    A_i = (R_i - mean(R)) / std(R) (the paper, section 3.3), with the standard deviation of the population (TRL takes
    the sample's, plus 1e-4). Without `normalize_by_std` there is no division (Liu et al. 2025, "Dr. GRPO"; Code
    World Model, section 5.2, "No normalization"). With `weights`, (G,), mean(R) = sum_j w_j R_j / sum_j w_j: the
    lengths of the rollouts make it the length-weighted mean return (Code World Model, sections 5.2 and 12). A group
    whose rewards are equal gets zeros.
    """
    spread = pstdev(rewards)
    if spread == 0:
        return [0.0] * len(rewards)
    counted = weights is not None and sum(weights) > 0
    mean = fmean(rewards, weights if counted else None)
    return [(reward - mean) / (spread if normalize_by_std else 1.0) for reward in rewards]


def turn_returns(turn_rewards: Sequence[float | None], reward: float, discount: float = 1.0) -> list[float]:
    """The return of each of an episode's K turns, G_k = r_k + gamma G_{k+1} with G_{K+1} = R / gamma: (K,) -> (K,).

    R is the reward of the episode, which its last turn gets, and r_k that of turn k, None counting as 0. With a
    `discount` gamma below 1 a failed program is worth less than the one that it leads to (Baronio et al. 2025, "Kevin:
    Multi-Turn RL for Generating CUDA Kernels", arXiv:2507.11948, section 3.2, where 0.4 was best). With 1 and no reward
    for turns every return is R, as in Code World Model, section 12.
    """
    returns, later = list[float](), reward / discount
    for turn_reward in reversed(turn_rewards):
        later = (turn_reward or 0.0) + discount * later
        returns.append(later)
    return returns[::-1]


def leave_one_out(rewards: Sequence[float], _lengths: Sequence[int]) -> list[float]:
    """A_i = R_i - sum_{j != i} R_j / (G - 1): (G,) -> (G,). A group of one gets zero.

    RLOO: each reward less the mean of the others', which does not depend on the rollout itself (Ahmadian et al. 2024,
    section 2.3; Kool et al. 2019).
    """
    size, total = len(rewards), math.fsum(rewards)
    return [reward - (total - reward) / (size - 1) for reward in rewards] if size > 1 else [0.0] * size


def rewards_alone(rewards: Sequence[float], _lengths: Sequence[int]) -> list[float]:
    """A_i = R_i: (G,) -> (G,), for an algorithm whose baseline is the whole batch (`token_statistics`)."""
    return list(rewards)


def token_statistics(advantages: Sequence[float], lengths: Sequence[int]) -> tuple[float, float]:
    """The mean and the standard deviation of the advantages of S rollouts over all their tokens, (S,), (S,).

    REINFORCE++ normalises with them, (A - mean) / std over the tokens of the whole batch (Hu et al. 2025, section 3,
    "global advantage normalization"): here every token of a rollout has its advantage. Without a token both are 0.
    """
    if not sum(lengths):
        return 0.0, 0.0
    mean = fmean(advantages, lengths)
    return mean, math.sqrt(fmean([(advantage - mean) ** 2 for advantage in advantages], lengths))


_RARE = 0.75
"""Tokens past this part of the vocabulary are rare: a tokenizer's merges come in order of frequency. The paper tunes
both thresholds "for high precision"; these are the ones that other trainers use with its rule."""
_UNLIKELY = 2.0
"""A token is unlikely if its log-probability is this far below that of a uniform choice, in nats."""


def is_zero_variance(group: RolloutGroup) -> bool:
    """Whether all task rewards of a scored group are equal, before any length penalty, apart from those left out.

    Yu et al. 2025 (DAPO, equation 11): a group that is all right or all wrong gives no gradient.
    """
    return len({rollout.task_reward for rollout in group} - {None}) < 2


def is_stale(rollout: Rollout, policy_version: int, max_off_policy_steps: int) -> bool:
    """Whether a policy that sampled one of its tokens is more than `max_off_policy_steps` updates old.

    Code World Model, section 5.2, "Skip stale trajectories", which asks this of the most recent tokens alone; here the
    bound holds for every token.
    """
    return max(off_policy_steps(rollout, policy_version), default=0) > max_off_policy_steps


def off_policy_steps(rollout: Rollout, policy_version: int) -> list[int]:
    """For each sampled token, the number of updates since the policy that sampled it: (S,)."""
    return [policy_version - version for version in rollout.sampled_versions]


def is_gibberish(rollout: Rollout, vocab_size: int) -> bool:
    """Whether a token that the policy sampled is both rare, i > 0.75 |V|, and unlikely, log p < -log |V| - 2.

    Code World Model, section 5.2, "Gibberish detection"; |V| is `vocab_size`.
    """
    rare, unlikely = _RARE * vocab_size, -math.log(vocab_size) - _UNLIKELY
    return any(
        bit and token > rare and logprob < unlikely
        for segment in rollout.segments
        for token, bit, logprob in zip(segment.token_ids, segment.mask, segment.logprobs, strict=True)
    )


def batches_by_tokens(lengths: Sequence[int], limit: int) -> Iterator[range]:
    """Consecutive ranges of sequences of these `lengths`, as many in a batch as `limit` tokens allow; at least one.

    Code World Model, sections 5.2 ("Batching strategy") and 12: trajectories are taken from a queue until a limit of
    tokens is reached, so that the size of updates varies little; a group may be split between updates.
    """
    first, tokens = 0, 0
    for place, length in enumerate(lengths):
        if place > first and tokens + length > limit:
            yield range(first, place)
            first, tokens = place, 0
        tokens += length
    if lengths:
        yield range(first, len(lengths))


def full_batch(lengths: Sequence[int], limit: int) -> int:
    """How many of the first sequences make a full batch of at most `limit` tokens; 0 while another one would fit.

    Code World Model, section 12: batches are taken from a queue, so that none of them is partial.
    """
    first = next(batches_by_tokens(lengths, limit), range(0))
    is_full = first.stop < len(lengths) or sum(lengths) >= limit
    return first.stop if is_full else 0


LossNormalization = Literal["token", "sequence", "constant"]


@dataclass(frozen=True, slots=True)
class BatchTotals:
    """Totals of one update, over all its micro batches and all ranks.

    `capacity` is the constant: the most tokens that the update could hold.
    """

    sequences: int
    tokens: int
    capacity: int


def token_weights(lengths: Sequence[int], normalization: LossNormalization, totals: BatchTotals) -> list[float]:
    """The weight of a token of each of S sequences with `lengths` sampled tokens: (S,) -> (S,).

    `token`: 1 / totals.tokens, the mean over all tokens of the batch (DAPO, equation 8).
    `sequence`: 1 / (totals.sequences |y_i|), the mean over sequences of their means (the paper, section 3.3).
    `constant`: 1 / totals.capacity, which no completion's length changes (Liu et al. 2025, "Dr. GRPO": the maximum
    length times the sequences; Code World Model, section 12: the maximum number of tokens in a batch).
    """
    if normalization == "sequence":
        return [1.0 / (max(totals.sequences, 1) * max(length, 1)) for length in lengths]
    divisor = totals.tokens if normalization == "token" else totals.capacity
    return [1.0 / max(divisor, 1)] * len(lengths)
