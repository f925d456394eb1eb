"""Reward and advantage: what each attempt of a group is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agnostics.algorithms.advantage import group_advantages
from agnostics.algorithms.algorithm import Algorithm, Length
from agnostics.algorithms.filters import has_signal
from agnostics.rollout.collector import Attempt
from agnostics.types.errors import AgnosticsError
from agnostics.types.reward import RewardPolicy


@dataclass(frozen=True, slots=True)
class Judged:
    """An attempt with what it earned, its reward (the length counted), and its advantage.

    All are None where the reward policy leaves it out of the loss; the advantage alone where the algorithm does.
    """

    attempt: Attempt
    earned: float | None = None
    reward: float | None = None
    advantage: float | None = None


def silent(group: Sequence[Judged]) -> bool:
    """Whether a group has no signal to learn from, however long its answers are."""
    return not has_signal([judged.earned for judged in group])


@dataclass(frozen=True, slots=True)
class Judge:
    """What gives rewards and advantages to groups. `limit` is the length at which answers are cut off, in tokens."""

    policy: RewardPolicy
    algorithm: Algorithm
    limit: int
    vocabulary: int

    def judge(self, group: Sequence[Attempt], progress: float) -> list[Judged]:
        """The attempts of one group with what they are worth, when `progress` (0 to 1) of the training is done."""
        earned = self._earned(group)
        rewards = [
            None if value is None else self._with_length(value, attempt, progress)
            for value, attempt in zip(earned, group, strict=True)
        ]
        advantages = self._advantages(group, rewards)
        return [Judged(*parts) for parts in zip(group, earned, rewards, advantages, strict=True)]

    def _earned(self, group: Sequence[Attempt]) -> list[float | None]:
        rewards = self.policy.rewards([attempt.verification for attempt in group])
        if len(rewards) != len(group):
            raise AgnosticsError(
                f"reward policy {self.policy.name!r} gave {len(rewards)} rewards for {len(group)} verifications"
            )
        return rewards

    def _with_length(self, reward: float, attempt: Attempt, progress: float) -> float:
        if self.algorithm.length_reward is None:
            return reward
        return self.algorithm.length_reward(reward, Length(attempt.trajectory.spoken, self.limit, progress))

    def _advantages(self, group: Sequence[Attempt], rewards: Sequence[float | None]) -> list[float | None]:
        """The advantages; those left out of the loss count in the group's mean where they have a reward."""
        present = [place for place, reward in enumerate(rewards) if reward is not None]
        lengths = [group[place].trajectory.spoken for place in present]
        values = self._rule([reward for reward in rewards if reward is not None], lengths) if present else []
        found = dict(zip(present, values, strict=True))
        return [None if self._left_out(attempt) else found.get(place) for place, attempt in enumerate(group)]

    def _rule(self, rewards: Sequence[float], lengths: Sequence[int]) -> Sequence[float]:
        algorithm = self.algorithm
        if algorithm.advantages is not None:
            return algorithm.advantages(rewards, lengths)
        return group_advantages(
            rewards, scale=algorithm.normalize_by_std, weights=lengths if algorithm.length_weighted else None
        )

    def _left_out(self, attempt: Attempt) -> bool:
        algorithm = self.algorithm
        if algorithm.mask_truncated and attempt.answer.finish_reason == "length":
            return True
        return algorithm.rejection is not None and algorithm.rejection(attempt.trajectory, self.vocabulary)
