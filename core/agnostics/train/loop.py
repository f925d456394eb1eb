"""The loop: sample -> verify -> reward -> advantage -> update -> sync."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agnostics.reward import RewardPolicy
from agnostics.rollout.engine import Sampling
from agnostics.train.attempts import Attempt, Round, Workshop
from agnostics.train.config import RunConfig
from agnostics.train.curriculum import Curriculum, Question
from agnostics.train.figures import figures_of, figures_of_updates
from agnostics.train.interrupt import Interrupts
from agnostics.train.policy import Policy
from agnostics.train.reckoning import Judged, examples, judge
from agnostics.train.schedule import learning_rate_at
from agnostics.train.sync import check_gap, synchronise

Groups = Sequence[Sequence[Judged]]
Finished = Callable[[int, Groups, Mapping[str, float]], None]

_PROBED = 8
"""How many trajectories the gap is measured on where a batch holds no signal to learn from."""


@dataclass(frozen=True)
class Trainer:
    """A policy, and everything that it takes to teach it."""

    config: RunConfig
    workshop: Workshop
    policy: Policy
    curriculum: Curriculum
    reward: RewardPolicy
    interrupts: Interrupts

    @property
    def steps(self) -> int:
        """The number of the last step."""
        return self.config.steps or self.curriculum.steps_per_epoch

    def train(self, done: int, finished: Finished) -> None:
        """Train from the step after `done` to the last; `finished(step, groups, figures)` is told of each step."""
        for step in range(done + 1, self.steps + 1):
            started = time.monotonic()
            attempted = self._sample_and_verify(step)
            groups = [judge(self.reward, group, scale=self.config.train.scale_advantages) for group in attempted.groups]
            with self.interrupts.deferred():
                learned = self._update(step, groups)
                figures = figures_of(attempted, groups) | learned | {"seconds": time.monotonic() - started}
                finished(step, groups, figures)

    def attempt_held_out(self, questions: Sequence[Question]) -> list[list[Attempt]]:
        """Attempts at held-out tasks, a group for each. They have the same seeds before and after training."""
        evaluation = self.config.evaluation
        sampling = Sampling(evaluation.temperature, self.config.rollout.max_new_tokens)
        return self.workshop.attempt(questions, evaluation.samples, sampling, f"{self.config.seed}/evaluation").groups

    def _sample_and_verify(self, step: int) -> Round:
        rollout = self.config.rollout
        sampling = Sampling(rollout.temperature, rollout.max_new_tokens)
        seed = f"{self.config.seed}/train/{step}"
        return self.workshop.attempt(self.curriculum.at(step), rollout.group, sampling, seed)

    def _update(self, step: int, groups: Groups) -> dict[str, float]:
        """Learn from the groups and let the engine know."""
        settings = self.config.train
        rate = self._learning_rate(step)
        started = time.monotonic()
        batch = examples(groups, settings.loss_normalisation)
        stats = [self.policy.update(batch, rate) for _ in range(settings.updates if batch else 0)]
        gap = stats[0].gap if stats else self._probe(groups)
        check_gap(gap, settings.max_gap)
        updated = time.monotonic()
        if stats:
            synchronise(self.policy, self.workshop.engine)
        times = {"updating_s": updated - started, "syncing_s": time.monotonic() - updated}
        state = {"gap": gap, "learning_rate": rate, "policy_version": self.policy.version}
        return {**state, **figures_of_updates(stats), **times}

    def _learning_rate(self, step: int) -> float:
        settings = self.config.train
        warmup = settings.warmup_epochs * self.curriculum.steps_per_epoch
        return learning_rate_at(step, steps=self.steps, warmup=warmup, peak=settings.learning_rate)

    def _probe(self, groups: Groups) -> float:
        """The gap on a few trajectories, where there is nothing to learn from."""
        trajectories = [judged.attempt.trajectory for group in groups for judged in group]
        return self.policy.gap(trajectories[:_PROBED])
