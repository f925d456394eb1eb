"""Reward and advantage: from the attempts at some tasks to the examples that the policy learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agnostics.errors import AgnosticsError
from agnostics.reward import RewardPolicy
from agnostics.train.advantage import group_advantages
from agnostics.train.attempts import Attempt
from agnostics.train.batch import Example
from agnostics.train.loss import Normalisation, sequence_weights


@dataclass(frozen=True, slots=True)
class Judged:
    """An attempt with its reward and advantage, both None where it is left out of the loss."""

    attempt: Attempt
    reward: float | None
    advantage: float | None


def judge(policy: RewardPolicy, group: Sequence[Attempt], *, scale: bool = True) -> list[Judged]:
    """The attempts of one group with what they are worth."""
    rewards = policy.rewards([attempt.verification for attempt in group])
    if len(rewards) != len(group):
        raise AgnosticsError(
            f"reward policy {policy.name!r} gave {len(rewards)} rewards for {len(group)} verifications"
        )
    advantages = group_advantages(rewards, scale=scale)
    return [Judged(*parts) for parts in zip(group, rewards, advantages, strict=True)]


def examples(groups: Sequence[Sequence[Judged]], normalisation: Normalisation) -> list[Example]:
    """What the policy learns from: every attempt with an advantage that is not zero.

    The others count in the weights, where they belong to the mean, but move nothing and so cost nothing.
    """
    counted = [judged for group in groups for judged in group if judged.advantage is not None]
    weights = sequence_weights([judged.attempt.trajectory.spoken for judged in counted], normalisation)
    return [
        Example(judged.attempt.trajectory, judged.advantage, weight)
        for judged, weight in zip(counted, weights, strict=True)
        if judged.advantage
    ]
