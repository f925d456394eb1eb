"""The scorer of a run: gives the groups of each step their rewards and advantages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agnostics.algorithms.algorithm import Algorithm, ScoringContext
from agnostics.types.rollout import Rollout, RolloutGroup


@dataclass(frozen=True, slots=True)
class GroupScorer:
    """Scores groups with an algorithm, in a run of `steps` steps."""

    algorithm: Algorithm
    context: ScoringContext
    steps: int

    def score(self, group: RolloutGroup, step: int) -> list[Rollout]:
        """The rollouts of a verified group of `step`, counted from 1, with rewards and advantages."""
        return self.algorithm.score(group, replace(self.context, progress=(step - 1) / self.steps))
