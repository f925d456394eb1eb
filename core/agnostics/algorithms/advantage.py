"""Group advantages: how much better a rollout is than the others of its group."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, pstdev


def group_advantages(
    rewards: Sequence[float], *, normalize_by_std: bool = True, weights: Sequence[float] | None = None
) -> list[float]:
    """The advantages of one group of G rollouts of the same prompt, from their `rewards`: (G,) -> (G,).

    A_i = (R_i - mean(R)) / std(R) (the paper, section 3.3), with the standard deviation of the population (TRL takes
    the sample's, plus 1e-4). Without `normalize_by_std` there is no division (Liu et al. 2025, "Dr. GRPO"; Code
    World Model, section 5.2, "No normalization"). With `weights`, (G,), mean(R) = sum_j w_j R_j / sum_j w_j: the
    lengths of the rollouts make it the length-weighted mean return (Code World Model, sections 5.2 and 12). A group
    whose rewards are equal gets zeros.
    """
    spread = pstdev(rewards)
    if spread == 0:
        return [0.0] * len(rewards)
    counted = weights is not None and sum(weights) > 0
    mean = fmean(rewards, weights if counted else None)
    return [(reward - mean) / (spread if normalize_by_std else 1.0) for reward in rewards]
