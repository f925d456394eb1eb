"""What is not learnt from: groups that say nothing, answers too old, and gibberish."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agnostics.types.rollout import Trajectory

_RARE = 0.75
"""Tokens past this part of the vocabulary are rare: a tokenizer's merges come in order of frequency. The paper tunes
both thresholds "for high precision"; these are the ones that other trainers use with its rule."""
_UNLIKELY = 2.0
"""How far below that of a uniform choice a log-probability lies where a token is unlikely, in nats."""


def has_signal(rewards: Sequence[float | None]) -> bool:
    """Whether the rewards of a group differ, those left out (None) aside: else every advantage is zero.

    Yu et al. 2025 (DAPO, equation 11): a group that is all right or all wrong gives no gradient.
    """
    return len({reward for reward in rewards if reward is not None}) > 1


def is_stale(trajectory: Trajectory, version: int, max_off_policy_steps: int) -> bool:
    """Whether the last token was sampled from a policy more than `max_off_policy_steps` updates behind `version`.

    Code World Model, section 5.2, "Skip stale trajectories".
    """
    return bool(trajectory.versions) and version - trajectory.versions[-1] > max_off_policy_steps


def spoken_ages(trajectory: Trajectory, version: int) -> list[int]:
    """How many updates behind `version` the policy was when it spoke each of its tokens: (N,)."""
    return [version - then for then in trajectory.spoken_versions]


def is_gibberish(trajectory: Trajectory, vocabulary: int) -> bool:
    """Whether a token that the policy spoke is both rare, i > 0.75 |V|, and unlikely, log p < -log |V| - 2.

    Code World Model, section 5.2, "Gibberish detection"; |V| is the size of the `vocabulary`.
    """
    rare, unlikely = _RARE * vocabulary, -math.log(vocabulary) - _UNLIKELY
    tokens = zip(trajectory.token_ids, trajectory.mask, trajectory.logprobs, strict=True)
    return any(bit and token > rare and logprob < unlikely for token, bit, logprob in tokens)
