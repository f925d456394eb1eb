"""The task sampler: the order of prompts, which a step's number and the seed decide."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from agnostics.rollout.prompts import RenderedPrompt


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

    def _order(self, epoch: int) -> tuple[int, ...]:
        return round_robin_order(tuple(prompt.task.kind for prompt in self.prompts), f"{self.seed}/{epoch}")


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
