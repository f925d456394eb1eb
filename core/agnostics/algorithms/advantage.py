"""Group advantages: how much better an answer was than its siblings."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, pstdev


def group_advantages(
    rewards: Sequence[float], *, scale: bool = True, weights: Sequence[float] | None = None
) -> list[float]:
    """The advantages of one group of G answers to the same prompt, from their `rewards`: (G,) -> (G,).

    A_i = (R_i - mean(R)) / std(R) (the paper, section 3.3), with the standard deviation of the population (TRL takes
    the sample's, plus 1e-4). Without `scale` the division is left out (Liu et al. 2025, "Dr. GRPO"; Code World Model,
    section 5.2, "No normalization"). With `weights`, (G,), mean(R) = sum_j w_j R_j / sum_j w_j: the lengths of the
    answers make it the length-weighted mean return (Code World Model, sections 5.2 and 12). A group without spread says
    nothing and gets zeros.
    """
    spread = pstdev(rewards)
    if spread == 0:
        return [0.0] * len(rewards)
    counted = weights is not None and sum(weights) > 0
    mean = fmean(rewards, weights if counted else None)
    return [(reward - mean) / (spread if scale else 1.0) for reward in rewards]
