"""Lessons: from judged groups to the examples of each update, weighed over the whole batch before it is split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.batches import batches_by_tokens
from agnostics.algorithms.filters import is_stale, spoken_ages
from agnostics.algorithms.loss_weights import Totals, token_weights
from agnostics.algorithms.scoring import Judged, silent
from agnostics.train.micro_batch import Example
from agnostics.train.policy import Policy, UpdateStats


@dataclass(frozen=True, slots=True)
class Lessons:
    """What the updates of one step did. `stale` counts answers skipped for their age.

    `ages` counts the tokens that were learnt from, in each update, by how many updates old they were.
    """

    updates: list[UpdateStats]
    stale: int
    ages: Counter[int]


@dataclass(frozen=True, slots=True)
class Teacher:
    """How a policy learns from judged groups. `limit` is the length at which answers are cut off, in tokens."""

    policy: Policy
    algorithm: Algorithm
    limit: int

    def teach(
        self, groups: Sequence[Sequence[Judged]], updates: int, rate: float, between: Callable[[], None]
    ) -> Lessons:
        """Go through the groups `updates` times, at the learning rate `rate`; an update that holds nothing is none.

        `between` is called before each micro batch.
        """
        every = examples_of(groups, self.algorithm)
        fresh = self._anchored([example for example in every if not self._is_stale(example)])
        done, ages = list[UpdateStats](), Counter[int]()
        for _ in range(updates):
            for batch in self._batches(fresh):
                weighed = [example for example in self._weighed(batch) if self._moves(example)]
                if weighed:
                    ages.update(chain.from_iterable(map(self._ages, weighed)))
                    done.append(self.policy.update(weighed, rate, between))
        return Lessons(done, len(every) - len(fresh), ages)

    def _anchored(self, examples: Sequence[Example]) -> list[Example]:
        """What moves the policy with what it is compared with, then the rest, which only counts in the weights."""
        moving = [example for example in examples if self._moves(example)]
        return self.policy.anchored(moving) + [example for example in examples if not self._moves(example)]

    def _moves(self, example: Example) -> bool:
        return example.advantage != 0 or self.algorithm.kl_coef > 0

    def _is_stale(self, example: Example) -> bool:
        return is_stale(example.trajectory, self.policy.version, self.algorithm.max_off_policy_steps)

    def _ages(self, example: Example) -> list[int]:
        return spoken_ages(example.trajectory, self.policy.version)

    def _batches(self, examples: Sequence[Example]) -> Iterator[Sequence[Example]]:
        if not self.algorithm.batch_tokens:
            yield examples
            return
        lengths = [example.trajectory.spoken for example in examples]
        for places in batches_by_tokens(lengths, self.algorithm.batch_tokens):
            yield examples[places.start : places.stop]

    def _weighed(self, examples: Sequence[Example]) -> list[Example]:
        """The examples of one update with what their tokens weigh."""
        lengths = [example.trajectory.spoken for example in examples]
        totals = Totals(len(lengths), sum(lengths), self.algorithm.batch_tokens or len(lengths) * self.limit)
        weights = token_weights(lengths, self.algorithm.loss_normalization, totals)
        return [replace(example, weight=weight) for example, weight in zip(examples, weights, strict=True)]


def examples_of(groups: Sequence[Sequence[Judged]], algorithm: Algorithm) -> list[Example]:
    """Every attempt that counts, without a weight as yet. An advantage of zero counts in the mean and moves nothing."""
    drop = algorithm.filter_zero_variance or algorithm.dynamic_sampling_rounds > 0
    kept = [group for group in groups if not (drop and silent(group))]
    return [
        Example(judged.attempt.trajectory, judged.advantage, weight=0.0)
        for group in kept
        for judged in group
        if judged.advantage is not None
    ]
