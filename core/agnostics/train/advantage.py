"""Group advantages: how much better an answer was than its siblings."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, pstdev


def group_advantages(rewards: Sequence[float | None], *, scale: bool = True) -> list[float | None]:
    """The advantages of one group of G answers to the same prompt, from their G rewards.

    A_i = (R_i - mean(R)) / std(R) over the rewards that are there (the paper, section 3.3), with the population's
    standard deviation; without `scale` the division is left out (Liu et al. 2025, "Dr. GRPO"). A group without spread
    says nothing and gets zeros. A reward of `None` stays `None`: that answer is left out of the loss.
    """
    present = [reward for reward in rewards if reward is not None]
    if not present:
        return [None] * len(rewards)
    mean, spread = fmean(present), pstdev(present)
    divisor = spread if scale and spread > 0 else 1.0
    return [None if reward is None else (reward - mean) / divisor if spread > 0 else 0.0 for reward in rewards]
