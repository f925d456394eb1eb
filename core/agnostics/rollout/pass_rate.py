"""pass@1 of rollouts, a group for each task."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from agnostics.types.rollout import RolloutGroup
from agnostics.types.verification import Verdict
from agnostics.util.statistics import PassRate, rate_interval


def pass_rate(groups: Sequence[RolloutGroup], seed: int) -> PassRate | None:
    """The mean over tasks of the share of accepted rollouts; None if no program has a verdict.

    Failed sandboxes are left out. The interval is from resampling families of tasks.
    """
    rates, families = [], []
    for group in groups:
        verified = [r.verified for r in group if r.verified.verdict is not Verdict.SANDBOX_ERROR]
        if verified:
            rates.append(fmean(verification.accepted for verification in verified))
            families.append(group[0].task.family)
    if not rates:
        return None
    return PassRate(fmean(rates), rate_interval(rates, families, seed=seed), len(rates))
