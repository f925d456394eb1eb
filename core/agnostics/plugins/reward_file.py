"""Reward policies in a file of the user's own, named as `path.py:NAME`: a function, or a subclass of `RewardPolicy`."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from agnostics.plugins.python_file import absolute_python_name, instance_of, load_object
from agnostics.types.errors import UsageError, describe_error
from agnostics.types.reward import RewardPolicy
from agnostics.types.rollout import RolloutGroup
from agnostics.types.verification import Verdict

RewardFunction = Callable[[RolloutGroup], Sequence[float | None]]
"""(rollouts of one prompt) -> one reward for each."""


class RewardFromFile(RewardPolicy):
    """A reward policy from a file of the user's own. What is wrong with it is a UsageError, with the line in the file.

    It is a subclass of `RewardPolicy`, which gets whole groups and says itself whether it needs all tests.
    """

    def __init__(self, name: str, function: RewardFunction, *, needs_all_tests: bool) -> None:
        self.name, self.needs_all_tests = name, needs_all_tests
        self._function = function

    def rewards(self, group: RolloutGroup) -> list[float | None]:
        """See `RewardPolicy.rewards`. Raises UsageError."""
        return self._checked(group)

    def _checked(self, group: RolloutGroup) -> list[float | None]:
        """What the function gives `group`: one number, or None, for each rollout."""
        try:
            rewards = list(self._function(group))
        except Exception as error:
            raise UsageError(f"{self._place(error)} raised {describe_error(error)}") from error
        if len(rewards) != len(group):
            raise UsageError(f"{self.name} gave {len(rewards)} rewards for {len(group)} rollouts")
        return [None if reward is None else self._number(reward) for reward in rewards]

    def _number(self, reward: Any) -> float:
        try:
            number = float(reward)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise UsageError(f"{self.name} gave the reward {reward!r:.80}; a reward is a finite number or None")
        return number

    def _place(self, error: Exception) -> str:
        path = self.name.rpartition(":")[0]
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        return f"{self.name}, line {lines[-1]}," if lines else self.name


class _RewardFunction(RewardFromFile):
    """A function, which gets the rollouts with a verdict: those whose sandbox failed are left out of the loss.

    As it may look at any test, every test is run.
    """

    def __init__(self, name: str, function: RewardFunction) -> None:
        super().__init__(name, function, needs_all_tests=True)

    def rewards(self, group: RolloutGroup) -> list[float | None]:
        """See `RewardPolicy.rewards`. Raises UsageError."""
        has_verdict = [rollout.verified.verdict is not Verdict.SANDBOX_ERROR for rollout in group]
        verified = list(compress(group, has_verdict))
        given = iter(self._checked(verified) if verified else ())
        return [next(given) if verdict else None for verdict in has_verdict]


def load_reward(name: str) -> RewardPolicy:
    """The reward policy `path.py:NAME`. Raises UsageError for a file or a name that is not there or is no policy."""
    found, name = load_object(name, "reward"), absolute_python_name(name)
    if isinstance(found, type) and issubclass(found, RewardPolicy):
        policy: RewardPolicy = instance_of(found, name)
        return RewardFromFile(name, policy.rewards, needs_all_tests=policy.needs_all_tests)
    if isinstance(found, type) or not callable(found):
        raise UsageError(f"reward {name!r} is neither a function nor a subclass of RewardPolicy")
    return _RewardFunction(name, found)
