"""The loop: sample -> verify -> reward -> advantage -> update -> sync."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice

from agnostics.algorithms.scoring import Judge, Judged, silent
from agnostics.inference.engine import Sampling
from agnostics.profiling.spans import Span
from agnostics.rollout.collector import Attempt, Begun, Round, Workshop
from agnostics.rollout.task_sampler import Curriculum, Question
from agnostics.train.config import RunConfig
from agnostics.train.cpu_threads import divided_threads
from agnostics.train.learner import Teacher
from agnostics.train.lr_schedule import learning_rate_at
from agnostics.train.metrics import figures_of, figures_of_lessons, figures_of_time
from agnostics.train.weight_sync import check_gap, synchronise
from agnostics.types.rollout import Trajectory
from agnostics.util.signals import Interrupts

Groups = Sequence[Sequence[Judged]]
Finished = Callable[[int, Groups, Mapping[str, float], Sequence[Span]], None]

_PROBED = 8
"""How many answers the gap is measured on where the batch itself does not tell."""
_PROBE_TOKENS = 16
_PROBE_EVERY = 10
"""Steps."""


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
        """Train from the step after `done` to the last; `finished(step, groups, figures, spans)` is told of each step.

        What `between(step)` then does may be interrupted.
        """
        begun: deque[Begun] = deque()
        self.workshop.timeline.close_window()
        for step in range(done + 1, self.steps + 1):
            self._step(step, begun, finished)
            between(step)

    @property
    def steps_ahead(self) -> int:
        """How many steps are sampled ahead of the one that is learned from: none where it is strictly on-policy."""
        return self.judge.algorithm.max_off_policy_steps // self.config.train.updates_per_batch

    def attempt_held_out(self, questions: Sequence[Question]) -> list[list[Attempt]]:
        """Attempts at held-out tasks, a group for each. They have the same seeds before and after training."""
        evaluation = self.config.evaluation
        sampling = Sampling(evaluation.temperature, self.config.rollout.max_completion_tokens)
        return self.workshop.attempt(questions, evaluation.samples, sampling, f"{self.config.seed}/evaluation").groups

    def _step(self, step: int, begun: deque[Begun], finished: Finished) -> None:
        """Learn from the oldest of `begun`, when as many steps have begun behind it as are sampled ahead."""
        started = time.monotonic()
        for ahead in range(step + len(begun), min(step + self.steps_ahead, self.steps) + 1):
            begun.append(self._begin(ahead, self.curriculum.at(ahead)))
        attempted, groups = self._judge_and_refill(step, begun.popleft().result())
        with self.interrupts.deferred():
            learned = self._update(step, groups)
            spans, shares = self.workshop.timeline.close_window()
            sampled = figures_of(attempted, groups)
            times = figures_of_time(time.monotonic() - started, shares, sampled["tokens"])
            figures = sampled | learned | times
            finished(step, groups, figures, spans)

    def _judge_and_refill(self, step: int, attempted: Round) -> tuple[Round, list[list[Judged]]]:
        """The groups of a step, and those sampled in place of groups without signal, as far as the bound allows."""
        groups = self._judged(step, attempted)
        spares = self.curriculum.spares(step)
        for _ in range(self.judge.algorithm.dynamic_sampling_rounds):
            missing = self.config.rollout.prompts_per_step - sum(not silent(group) for group in groups)
            questions = list(islice(spares, missing))
            if not questions:
                break
            more = self._begin(step, questions).result()
            attempted, groups = attempted.followed_by(more), groups + self._judged(step, more)
        return attempted, groups

    def _begin(self, step: int, questions: Sequence[Question]) -> Begun:
        rollout = self.config.rollout
        sampling = Sampling(rollout.temperature, rollout.max_completion_tokens)
        return self.workshop.begin(questions, rollout.group_size, sampling, f"{self.config.seed}/train/{step}")

    def _judged(self, step: int, attempted: Round) -> list[list[Judged]]:
        return [self.judge.judge(group, (step - 1) / self.steps) for group in attempted.groups]

    def _update(self, step: int, groups: Groups) -> dict[str, float]:
        """Learn from the groups and let the engine know."""
        settings, policy, timeline = self.config.train, self.teacher.policy, self.workshop.timeline
        rate = self._learning_rate(step)
        probed = self._probe(step, groups)
        started = time.monotonic()
        beside = divided_threads(self.workshop.sampler) if self.steps_ahead else nullcontext(lambda: None)
        with beside as between, timeline.during("training", f"update {step}"):
            lessons = self.teacher.teach(groups, settings.updates_per_batch, rate, between)
        gap = lessons.updates[0].gap if lessons.updates else self._gap(groups)
        gap = probed if gap is None else gap
        if gap is not None:
            check_gap(gap, settings.logprob_mismatch_bound)
        updated = time.monotonic()
        if lessons.updates:
            with timeline.during("training", f"new weights {policy.version}"):
                synchronise(policy, self.workshop.sampler)
        times = {"updating_s": updated - started, "syncing_s": time.monotonic() - updated}
        state = {"learning_rate": rate, "policy_version": policy.version} | ({} if gap is None else {"gap": gap})
        return {**state, **figures_of_lessons(lessons), **times}

    def _learning_rate(self, step: int) -> float:
        settings = self.config.train
        warmup = settings.warmup_epochs * self.curriculum.steps_per_epoch
        return learning_rate_at(step, steps=self.steps, warmup=warmup, peak=settings.learning_rate)

    def _gap(self, groups: Groups) -> float | None:
        """The gap on a few answers, all from this version of the policy, of a batch that teaches nothing."""
        policy = self.teacher.policy
        own = [found for found in _trajectories(groups) if set(found.versions) == {policy.version}]
        return policy.gap(own[:_PROBED]) if own else None

    def _probe(self, step: int, groups: Groups) -> float | None:
        """The gap on a few answers, now and then, where this version of the policy sampled nothing of the batch."""
        policy = self.teacher.policy
        due = (step - 1) % _PROBE_EVERY == 0
        if not due or any(policy.version in found.versions for found in _trajectories(groups)):
            return None
        sampling = Sampling(self.config.rollout.temperature, _PROBE_TOKENS)
        answers = self.workshop.answer(self.curriculum.at(step)[:_PROBED], sampling, f"{self.config.seed}/probe/{step}")
        return policy.gap(answers)


def _trajectories(groups: Groups) -> list[Trajectory]:
    return [judged.attempt.trajectory for group in groups for judged in group]
