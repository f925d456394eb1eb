"""Rates over tasks with their confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from agnostics.util.statistics import rate_interval


@dataclass(frozen=True, slots=True)
class RateEstimate:
    """A mean over `tasks` tasks, with its 95 % interval by resampling families."""

    rate: float
    low: float
    high: float
    tasks: int


def mean_rate(rates: Sequence[float], families: Sequence[str | None], seed: int) -> RateEstimate:
    """The mean of `rates` (one per task, of these `families`), with its interval by family.

    Raises ValueError if there is none.
    """
    return RateEstimate(fmean(rates), *rate_interval(rates, families, seed=seed), len(rates))
