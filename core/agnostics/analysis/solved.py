"""How far rejection sampling would come: the share of tasks that n attempts solve (Appendix A)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from agnostics.store.queries.tasks import SampleCounts
from agnostics.util.statistics import bootstrap_interval, pass_at_k


@dataclass(frozen=True, slots=True)
class Solved:
    """The share of tasks that `attempts` attempts solve, with its 95 % interval by resampling the `tasks`."""

    attempts: int
    tasks: int
    share: float
    low: float
    high: float


def solved_in(tasks: Sequence[SampleCounts], *, seed: int = 0) -> list[Solved]:
    """The share of `tasks` solved in 1, 2, 4, … attempts: the mean of the unbiased estimate of each task.

    A task counts for as many attempts as were made at it; with more, the estimate would be biased. So the shares are
    of the same tasks only where `tasks` is the same number.
    """
    return [_solved(attempts, tasks, seed) for attempts in _powers_of_two(max((t.programs for t in tasks), default=0))]


def _solved(attempts: int, tasks: Sequence[SampleCounts], seed: int) -> Solved:
    chances = [pass_at_k(task.programs, task.accepted, attempts) for task in tasks if task.programs >= attempts]
    return Solved(attempts, len(chances), fmean(chances), *bootstrap_interval(chances, seed=seed))


def _powers_of_two(most: int) -> Iterator[int]:
    power = 1
    while power <= most:
        yield power
        power *= 2
