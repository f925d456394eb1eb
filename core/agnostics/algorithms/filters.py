"""Filters: groups with equal rewards, stale rollouts, and gibberish."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agnostics.types.rollout import Rollout

_RARE = 0.75
"""Tokens past this part of the vocabulary are rare: a tokenizer's merges come in order of frequency. The paper tunes
both thresholds "for high precision"; these are the ones that other trainers use with its rule."""
_UNLIKELY = 2.0
"""A token is unlikely if its log-probability is this far below that of a uniform choice, in nats."""


def has_signal(rewards: Sequence[float | None]) -> bool:
    """Whether the rewards of a group differ, apart from those left out (None): else every advantage is zero.

    Yu et al. 2025 (DAPO, equation 11): a group that is all right or all wrong gives no gradient.
    """
    return len({reward for reward in rewards if reward is not None}) > 1


def is_stale(rollout: Rollout, policy_version: int, max_off_policy_steps: int) -> bool:
    """Whether the policy that sampled the last token is more than `max_off_policy_steps` updates old.

    Code World Model, section 5.2, "Skip stale trajectories".
    """
    versions = rollout.sampled_versions
    return bool(versions) and policy_version - versions[-1] > max_off_policy_steps


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
