"""The rollout schedule: which prompts each step collects, and how far sampling runs ahead of training."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from agnostics.inference.engine import SamplingParams
from agnostics.rollout.collector import PendingBatch, RolloutCollector
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.task_sampler import TaskSampler
from agnostics.train.config import RunConfig
from agnostics.types.rollout import Rollout, RolloutBatch

_PROBE_PROMPTS = 8
_PROBE_TOKENS = 16

Replacements = Callable[[int], RolloutBatch | None]
"""(number of prompts) -> rollouts of that many new prompts, of fewer if there are no more, or None."""


@dataclass(frozen=True)
class RolloutSchedule:
    """Collects the rollouts of each step, `steps_ahead` steps ahead of the step that is trained on."""

    config: RunConfig
    collector: RolloutCollector
    task_sampler: TaskSampler
    steps_ahead: int
    steps: int
    """The number of the last step."""
    _pending: deque[PendingBatch] = field(default_factory=deque)

    def collect(self, step: int) -> RolloutBatch:
        """The verified rollouts of `step`; those of the steps ahead of it are submitted before the wait for them."""
        for ahead in range(step + len(self._pending), min(step + self.steps_ahead, self.steps) + 1):
            self._pending.append(self._submit(ahead, self.task_sampler.at(ahead)))
        return self._pending.popleft().result()

    def replacements(self, step: int) -> Replacements:
        """Collects rollouts of prompts that `step` does not have, for dynamic sampling."""
        return partial(self._replace, step, self.task_sampler.replacements(step))

    def probe(self, step: int) -> list[Rollout]:
        """A few short rollouts of the engine's current weights, not verified."""
        params = SamplingParams(self.config.rollout.temperature, _PROBE_TOKENS)
        prompts = self.task_sampler.at(step)[:_PROBE_PROMPTS]
        return self.collector.sample(prompts, params, f"{self.config.seed}/probe/{step}")

    def _replace(self, step: int, prompts: Iterator[RenderedPrompt], count: int) -> RolloutBatch | None:
        chosen = list(islice(prompts, count))
        return self._submit(step, chosen).result() if chosen else None

    def _submit(self, step: int, prompts: Sequence[RenderedPrompt]) -> PendingBatch:
        rollout = self.config.rollout
        params = SamplingParams(rollout.temperature, rollout.max_completion_tokens)
        return self.collector.submit(prompts, rollout.group_size, params, f"{self.config.seed}/train/{step}")
