"""The yield of rejection sampling: the fraction of tasks solved within n attempts (Appendix A)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from agnostics.store.queries.tasks import SampleCounts
from agnostics.util.statistics import pass_at_k, rate_interval


@dataclass(frozen=True, slots=True)
class SolvedFraction:
    """The fraction of `tasks` solved within `attempts` attempts, with its 95 % interval from resampling families."""

    attempts: int
    tasks: int
    fraction: float
    low: float
    high: float


def solved_fractions(tasks: Sequence[SampleCounts], *, seed: int = 0) -> list[SolvedFraction]:
    """The fraction of `tasks` solved within 1, 2, 4, … attempts: the mean of each task's unbiased pass@k.

    A task with fewer attempts than k is left out, because its estimate would be biased. So two fractions are of the
    same tasks only if their `tasks` are equal.
    """
    largest = max((task.programs for task in tasks), default=0)
    return [_solved_fraction(attempts, tasks, seed) for attempts in _powers_of_two(largest)]


def _solved_fraction(attempts: int, tasks: Sequence[SampleCounts], seed: int) -> SolvedFraction:
    able = [task for task in tasks if task.programs >= attempts]
    rates = [pass_at_k(task.programs, task.accepted, attempts) for task in able]
    interval = rate_interval(rates, [task.family for task in able], seed=seed)
    return SolvedFraction(attempts, len(rates), fmean(rates), *interval)


def _powers_of_two(limit: int) -> Iterator[int]:
    power = 1
    while power <= limit:
        yield power
        power *= 2
