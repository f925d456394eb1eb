"""Held-out evaluation: how often the policy solves tasks it is not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from agnostics.rollout.collector import Attempt
from agnostics.types.verification import Verdict
from agnostics.util.statistics import bootstrap_interval


@dataclass(frozen=True, slots=True)
class Score:
    """pass@1 over `tasks` tasks, and the interval in which it lies with 95 % confidence, by resampling tasks."""

    pass_at_1: float
    interval: tuple[float, float]
    tasks: int


def score(groups: Sequence[Sequence[Attempt]], seed: int) -> Score | None:
    """The score of the attempts at each task; None where nothing was judged. A failed sandbox says nothing."""
    rates = []
    for group in groups:
        judged = [a.verification for a in group if a.verification.verdict is not Verdict.SANDBOX_ERROR]
        if judged:
            rates.append(fmean(verification.accepted for verification in judged))
    if not rates:
        return None
    return Score(fmean(rates), bootstrap_interval(rates, seed=seed), len(rates))
