"""Figures from samples: pass@k, the intervals around a rate, and whether two differ; pure functions."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that one of `k` programs is right, estimated without bias from `n` samples of which `c` are.

    1 - C(n-c, k) / C(n, k): equation 1 of Chen et al. 2021, "Evaluating Large Language Models Trained on Code".
    Raises ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@k needs 0 <= c <= n and 1 <= k <= n, not {n=} {c=} {k=}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def bootstrap_interval(
    per_task: Sequence[float], *, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean of `per_task` (a figure for each task), resampling tasks.

    Efron and Tibshirani 1993, section 13.3. Deterministic for a seed. Raises ValueError when there is no task.
    """
    if not per_task:
        raise ValueError("an interval needs at least one task")
    rng = random.Random(seed)
    means = sorted(fmean(rng.choices(per_task, k=len(per_task))) for _ in range(resamples))
    tail = (1.0 - level) / 2.0
    return quantile(means, tail), quantile(means, 1.0 - tail)


def wilson_interval(successes: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """The score interval of a rate of `successes` in `n` independent trials (Wilson 1927); (0, 1) for no trial."""
    if not 0 <= successes <= n:
        raise ValueError(f"an interval needs 0 <= successes <= n, not {successes=} {n=}")
    if n == 0:
        return 0.0, 1.0
    z2 = NormalDist().inv_cdf(0.5 + level / 2.0) ** 2
    rate = successes / n
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (rate * (1 - rate) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def sign_flip_p_value(differences: Sequence[float], *, seed: int = 0, resamples: int = 10_000) -> float:
    """How likely a mean at least this far from 0 is where neither of two is better: `differences` are one a task.

    The paired permutation test (Fisher 1935, section 21), two-sided: under the null hypothesis each difference might as
    well have the other sign. All signs are tried where there are at most `resamples` combinations, else that many are
    drawn, and the observed one counts among them (Phipson and Smyth 2010). Raises ValueError when there is no task.
    """
    if not differences:
        raise ValueError("a test needs at least one task")
    moved = [abs(difference) for difference in differences if difference]
    observed = abs(math.fsum(differences)) - 1e-9  # the same sum in another order
    if 2 ** len(moved) <= resamples:
        sums = [0.0]
        for size in moved:
            sums = [total + signed for total in sums for signed in (size, -size)]
        return sum(abs(total) >= observed for total in sums) / len(sums)
    rng = random.Random(seed)
    flipped = (math.fsum(size if rng.random() < 0.5 else -size for size in moved) for _ in range(resamples))
    return (1 + sum(abs(total) >= observed for total in flipped)) / (1 + resamples)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of `ordered` lies, interpolated linearly."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


@dataclass(frozen=True, slots=True)
class PassRate:
    """pass@1 over `tasks` tasks, and its 95 % confidence interval by resampling tasks."""

    pass_at_1: float
    interval: tuple[float, float]
    tasks: int
