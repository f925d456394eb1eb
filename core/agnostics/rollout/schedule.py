"""The rollout schedule: which prompts each step collects, and how far sampling runs ahead of training."""

from __future__ import annotations

import math
import random
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import islice
from statistics import fmean, pstdev
from typing import Any

from agnostics.algorithms.algorithm import Algorithm, ScoringContext
from agnostics.inference.engine import SamplingParams
from agnostics.rollout.collector import RolloutCollector
from agnostics.rollout.pending_batch import BatchRequest, DynamicSampling, PendingBatch
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.types.rollout import Rollout, RolloutBatch, RolloutGroup

_PROBE_PROMPTS = 8
_PROBE_TOKENS = 16

_RECENT_STEPS, _FEWEST_STEPS = 8, 4
"""The steps from which the tokens of the next ones are predicted: the last eight, once there are four."""
_DEVIATIONS = 2.0
"""The standard deviations above the mean that a prediction allows for."""


@dataclass(frozen=True)
class TaskSampler:
    """Prompts in an order that is shuffled for every epoch, `prompts_per_step` of them a step."""

    prompts: Sequence[RenderedPrompt]
    prompts_per_step: int
    seed: int

    @cached_property
    def steps_per_epoch(self) -> int:
        """The number of steps in which every prompt comes once."""
        return math.ceil(len(self.prompts) / self.prompts_per_step)

    def at(self, step: int) -> list[RenderedPrompt]:
        """The prompts of step `step`, counted from 1. They depend on the seed alone, so that runs resume."""
        size = len(self.prompts)
        positions = range((step - 1) * self.prompts_per_step, step * self.prompts_per_step)
        orders = {epoch: self._order(epoch) for epoch in {position // size for position in positions}}
        return [self.prompts[orders[position // size][position % size]] for position in positions]

    def replacements(self, step: int) -> Iterator[RenderedPrompt]:
        """Prompts that step `step` does not have, in a random order of its own, for dynamic sampling.

        They depend on the seed and the step alone, and come again in their own steps.
        """
        used = {prompt.task.id for prompt in self.at(step)}
        others = [prompt for prompt in self.prompts if prompt.task.id not in used]
        random.Random(f"{self.seed}/spares/{step}").shuffle(others)
        return iter(others)

    def observe(self, groups: Sequence[RolloutGroup]) -> None:
        """Take note of verified rollouts of the run. The shuffled order does not depend on them."""

    def state(self, step: int) -> Mapping[str, Any] | None:  # noqa: ARG002
        """What the prompts after `step` depend on besides the seed, as `restore` takes it; None if there is nothing."""
        return None

    def restore(self, state: Mapping[str, Any] | None, step: int) -> None:
        """Continue after `step` from what `state` returned then."""

    def _order(self, epoch: int) -> tuple[int, ...]:
        return round_robin_order(tuple(prompt.task.family for prompt in self.prompts), f"{self.seed}/{epoch}")


@lru_cache(maxsize=2)
def round_robin_order(families: tuple[str | None, ...], seed: int | str) -> tuple[int, ...]:
    """The indices of tasks of these families in a random order that takes one of each family in turn.

    A task without a family counts as the first of a family of its own: without families this is a plain shuffle.
    """
    order = list(range(len(families)))
    random.Random(seed).shuffle(order)
    counts, turns = Counter[str](), dict[int, int]()
    for index in order:
        family = families[index]
        turns[index] = counts[family] if family else 0
        counts.update([family] if family else [])
    return tuple(sorted(order, key=turns.__getitem__))


@dataclass(frozen=True, slots=True)
class StepsAhead:
    """The number of steps that sampling may run ahead, so that no rollout is too old when it is trained on.

    A rollout that is sampled now in the n-th batch from here is trained on after at most n `updates_per_batch` - 1
    updates. Without `batch_tokens` every step is a batch. With it, batches are taken from a queue: a step's place in it
    follows from the tokens that wait and from those of the steps before, which are predicted from recent steps; at
    first, from the most that a step can sample, `max_step_tokens`.
    """

    max_off_policy_steps: int
    updates_per_batch: int
    batch_tokens: int
    max_completion_tokens: int
    max_step_tokens: int
    _recent: deque[int] = field(default_factory=lambda: deque(maxlen=_RECENT_STEPS))

    def observe(self, tokens: int) -> None:
        """Learn how many tokens of a step are trained on."""
        self._recent.append(tokens)

    def limit(self, queued_tokens: int) -> int:
        """The number of steps ahead while `queued_tokens` wait for an update."""
        batches = (self.max_off_policy_steps + 1) // self.updates_per_batch
        if not self.batch_tokens:
            return max(0, batches - 1)
        filled = self.batch_tokens - self.max_completion_tokens  # at least: the next completion did not fit
        ahead = range(1, self.max_off_policy_steps + 1)
        fitting = (steps for steps in ahead if queued_tokens + self._tokens_of(1 + steps) <= batches * filled)
        return max(fitting, default=0)

    def _tokens_of(self, steps: int) -> float:
        """The tokens of the next `steps`, in a high estimate."""
        if len(self._recent) < _FEWEST_STEPS:
            return steps * self.max_step_tokens
        return steps * fmean(self._recent) + _DEVIATIONS * pstdev(self._recent) * math.sqrt(steps)


@dataclass(frozen=True)
class RolloutSchedule:
    """Collects the rollouts of each step, `steps_ahead` of the step that is trained on."""

    collector: RolloutCollector
    task_sampler: TaskSampler
    group_size: int
    params: SamplingParams
    seed: int
    steps_ahead: StepsAhead
    steps: int
    """The number of the last step."""
    algorithm: Algorithm
    """Scores the groups of dynamic sampling, to replace those without signal."""
    scoring: ScoringContext
    stop_on_failure: bool = True
    """End a program at its first failed test."""
    _pending: deque[PendingBatch] = field(default_factory=deque)

    def collect(self, step: int, queued_tokens: int = 0) -> RolloutBatch:
        """The verified rollouts of `step`; with dynamic sampling they are scored, and groups without signal replaced.

        The steps ahead of it are submitted before the wait for them. `queued_tokens` of earlier steps wait for an
        update.
        """
        last = min(step + self.steps_ahead.limit(queued_tokens), self.steps)
        for ahead in range(step + len(self._pending), last + 1):
            self._pending.append(self._submit(ahead))
        batch = self._pending.popleft().result()
        self.task_sampler.observe(batch.groups)
        return batch

    def probe(self, step: int) -> list[Rollout]:
        """A few short rollouts of the engine's current weights, not verified."""
        params = replace(self.params, max_completion_tokens=_PROBE_TOKENS)
        prompts = self.task_sampler.at(step)[:_PROBE_PROMPTS]
        return self.collector.sample(prompts, params, f"{self.seed}/probe/{step}")

    def _submit(self, step: int) -> PendingBatch:
        prompts, seed = self.task_sampler.at(step), f"{self.seed}/train/{step}"
        request = BatchRequest(prompts, self.group_size, self.params, seed, self.stop_on_failure, step)
        return self.collector.submit(request, self._dynamic_sampling(step, len(prompts)))

    def _dynamic_sampling(self, step: int, count: int) -> DynamicSampling | None:
        """The dynamic sampling of a step of `count` prompts, each with replacements of its own, if there is any.

        The replacements of a prompt do not depend on which other groups have a signal, or on when that is known.
        """
        if not self.algorithm.dynamic_sampling_rounds:
            return None
        others = list(islice(self.task_sampler.replacements(step), count * self.algorithm.dynamic_sampling_rounds))
        replacements = [others[place::count] for place in range(count)]
        score = partial(self.algorithm.score_group, context=self.scoring.at(step))
        return DynamicSampling(replacements, score, self.algorithm.has_signal)
