"""Reward policies: from the rollouts of one group to their rewards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from agnostics.types.rollout import RolloutGroup
from agnostics.types.verification import Verdict


class RewardPolicy(ABC):
    """Rewards the rollouts of one group, registered through `agn_rewards` and chosen by its name.

    Each rollout holds its task, its completion (`text`, tokens) and its verification.
    """

    name: ClassVar[str]

    @abstractmethod
    def rewards(self, group: RolloutGroup) -> Sequence[float | None]:
        """One reward for each rollout of `group`; `None` leaves that rollout out of the loss."""


class Accepted(RewardPolicy):
    """1 for an accepted program, 0 for any other (the paper, section 3.3); None where the sandbox failed."""

    name = "accepted"

    def rewards(self, group: RolloutGroup) -> list[float | None]:
        """See `RewardPolicy.rewards`."""
        verifications = [rollout.verified for rollout in group]
        return [None if v.verdict is Verdict.SANDBOX_ERROR else float(v.accepted) for v in verifications]
