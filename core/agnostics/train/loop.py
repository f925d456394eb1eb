"""The loop: sample -> verify -> reward -> advantage -> update -> sync."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from agnostics.rollout.engine import Sampling
from agnostics.train.attempts import Attempt, Round, Workshop
from agnostics.train.config import RunConfig
from agnostics.train.curriculum import Curriculum, Question
from agnostics.train.figures import figures_of, figures_of_lessons
from agnostics.train.interrupt import Interrupts
from agnostics.train.lessons import Teacher
from agnostics.train.reckoning import Judge, Judged, silent
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
    curriculum: Curriculum
    judge: Judge
    teacher: Teacher
    interrupts: Interrupts

    @property
    def steps(self) -> int:
        """The number of the last step."""
        return self.config.steps or self.curriculum.steps_per_epoch

    def train(self, done: int, finished: Finished, between: Callable[[int], None]) -> None:
        """Train from the step after `done` to the last; `finished(step, groups, figures)` is told of each step.

        What `between(step)` then does may be interrupted.
        """
        for step in range(done + 1, self.steps + 1):
            started = time.monotonic()
            attempted, groups = self._sample_and_judge(step)
            with self.interrupts.deferred():
                learned = self._update(step, groups)
                figures = figures_of(attempted, groups) | learned | {"seconds": time.monotonic() - started}
                finished(step, groups, figures)
            between(step)

    def attempt_held_out(self, questions: Sequence[Question]) -> list[list[Attempt]]:
        """Attempts at held-out tasks, a group for each. They have the same seeds before and after training."""
        evaluation = self.config.evaluation
        sampling = Sampling(evaluation.temperature, self.config.rollout.max_new_tokens)
        return self.workshop.attempt(questions, evaluation.samples, sampling, f"{self.config.seed}/evaluation").groups

    def _sample_and_judge(self, step: int) -> tuple[Round, list[list[Judged]]]:
        """The groups of a step, and those sampled in place of groups without signal, as far as the bound allows."""
        attempted = self._attempt(step, self.curriculum.at(step))
        groups = self._judged(step, attempted)
        spares = self.curriculum.spares(step)
        for _ in range(self.judge.algorithm.refill):
            missing = self.config.rollout.prompts - sum(not silent(group) for group in groups)
            questions = list(islice(spares, missing))
            if not questions:
                break
            more = self._attempt(step, questions)
            attempted, groups = attempted.followed_by(more), groups + self._judged(step, more)
        return attempted, groups

    def _attempt(self, step: int, questions: Sequence[Question]) -> Round:
        rollout = self.config.rollout
        sampling = Sampling(rollout.temperature, rollout.max_new_tokens)
        return self.workshop.attempt(questions, rollout.group, sampling, f"{self.config.seed}/train/{step}")

    def _judged(self, step: int, attempted: Round) -> list[list[Judged]]:
        return [self.judge.judge(group, (step - 1) / self.steps) for group in attempted.groups]

    def _update(self, step: int, groups: Groups) -> dict[str, float]:
        """Learn from the groups and let the engine know."""
        settings, policy = self.config.train, self.teacher.policy
        rate = self._learning_rate(step)
        started = time.monotonic()
        lessons = self.teacher.teach(groups, settings.updates, rate)
        gap = lessons.updates[0].gap if lessons.updates else self._probe(groups)
        check_gap(gap, settings.gap_bound)
        updated = time.monotonic()
        if lessons.updates:
            synchronise(policy, self.workshop.engine)
        times = {"updating_s": updated - started, "syncing_s": time.monotonic() - updated}
        state = {"gap": gap, "learning_rate": rate, "policy_version": policy.version}
        return {**state, **figures_of_lessons(lessons), **times}

    def _learning_rate(self, step: int) -> float:
        settings = self.config.train
        warmup = settings.warmup_epochs * self.curriculum.steps_per_epoch
        return learning_rate_at(step, steps=self.steps, warmup=warmup, peak=settings.learning_rate)

    def _probe(self, groups: Groups) -> float:
        """The gap on a few trajectories, where there is nothing to learn from."""
        trajectories = [judged.attempt.trajectory for group in groups for judged in group]
        return self.teacher.policy.gap(trajectories[:_PROBED])
