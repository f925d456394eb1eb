"""Statistics of samples: pass@k, confidence intervals of rates, and a significance test; pure functions."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate of the probability that one of `k` programs passes, from `n` samples of which `c` pass.

    1 - C(n-c, k) / C(n, k): equation 1 of Chen et al. 2021, "Evaluating Large Language Models Trained on Code".
    Raises ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@k needs 0 <= c <= n and 1 <= k <= n, not {n=} {c=} {k=}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def bootstrap_interval(
    per_task: Sequence[float],
    families: Sequence[str | None] | None = None,
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean of `per_task` (one value per task), from resampling families.

    Tasks of a family succeed and fail together, so that whole families are drawn with replacement (the cluster
    bootstrap: Davison and Hinkley 1997, section 3.8) and the mean is over the tasks of those drawn. A task without a
    family is one by itself; if all are of one family, tasks are drawn. Without `families` that is the bootstrap of
    Efron and Tibshirani 1993, section 13.3. Deterministic for a seed. Raises ValueError without tasks.
    """
    if not per_task:
        raise ValueError("an interval needs at least one task")
    rng = random.Random(seed)
    if families and not are_resampled_alone(families):
        sums = [(math.fsum(values), len(values)) for values in _by_family(per_task, families)]
        means = [_pooled_mean(rng.choices(sums, k=len(sums))) for _ in range(resamples)]
    else:
        means = [fmean(rng.choices(per_task, k=len(per_task))) for _ in range(resamples)]
    return central_interval(means, level=level)


def rate_interval(
    rates: Sequence[float], families: Sequence[str | None] | None = None, *, seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval of the mean of `rates`, one per task and each between 0 and 1.

    It is the bootstrap's, by family. Where resampling says nothing it is Wilson's: tasks alone that pass or fail, and
    families that all pass or all fail. Raises ValueError without tasks.
    """
    alone = not families or are_resampled_alone(families)
    units = rates if alone else [fmean(values) for values in _by_family(rates, families or ())]
    if units and set(units) <= {0.0, 1.0} and (alone or len(set(units)) == 1):
        return wilson_interval(round(sum(units)), len(units))
    return bootstrap_interval(rates, families, seed=seed)


def are_resampled_alone(families: Sequence[str | None]) -> bool:
    """Whether tasks of these families are resampled one by one: no two of them share a family, or all do."""
    named = [family for family in families if family is not None]
    return len({*named}) == len(named) or (len({*named}) == 1 and len(named) == len(families))


def _by_family(per_task: Sequence[float], families: Sequence[str | None]) -> list[list[float]]:
    """The values of each family, in the order in which families first occur; a task without one is by itself."""
    groups: dict[str | int, list[float]] = {}
    for place, (value, family) in enumerate(zip(per_task, families, strict=True)):
        groups.setdefault(place if family is None else family, []).append(value)
    return list(groups.values())


def _pooled_mean(sums: Sequence[tuple[float, int]]) -> float:
    return math.fsum(total for total, _ in sums) / sum(count for _, count in sums)


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


def sign_flip_p_value(
    differences: Sequence[float],
    families: Sequence[str | None] | None = None,
    *,
    seed: int = 0,
    resamples: int = 10_000,
) -> float:
    """The p-value of the mean of `differences` (one per task) under the hypothesis that neither of two runs is better.

    The paired permutation test (Fisher 1935, section 21), two-sided: under the null hypothesis each difference might as
    well have the other sign, the differences of a family together. All signs are tried if there are at most `resamples`
    combinations, else that many are drawn, and the observed one counts among them (Phipson and Smyth 2010). If all
    tasks are of one family, each has a sign of its own. Raises ValueError without tasks.
    """
    if not differences:
        raise ValueError("a test needs at least one task")
    sizes = differences
    if families and not are_resampled_alone(families):
        sizes = [math.fsum(values) for values in _by_family(differences, families)]
    moved = [abs(size) for size in sizes if size]
    observed = abs(math.fsum(differences)) - 1e-9  # the same sum in another order
    if 2 ** len(moved) <= resamples:
        sums = [0.0]
        for size in moved:
            sums = [total + signed for total in sums for signed in (size, -size)]
        return sum(abs(total) >= observed for total in sums) / len(sums)
    rng = random.Random(seed)
    flipped = (math.fsum(size if rng.random() < 0.5 else -size for size in moved) for _ in range(resamples))
    return (1 + sum(abs(total) >= observed for total in flipped)) / (1 + resamples)


def mcnemar_p_value(won: int, lost: int) -> float:
    """The p-value of McNemar's exact test, two-sided: `won` pairs went one way only, `lost` the other way only.

    Under the null hypothesis each of these pairs might as well have gone the other way (McNemar 1947): it is the
    sign-flip test of differences of 1, in closed form.
    """
    pairs = won + lost
    tail = sum(math.comb(pairs, count) for count in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / (1 << pairs))


def paired_rate_interval(won: int, lost: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """The interval of the difference of two rates over the same `n` trials, from the pairs that differ.

    Wald's with half a pair added to each of the four outcomes (Agresti and Min 2005, section 5), which has a width also
    if no pair differs. Raises ValueError for impossible counts.
    """
    if n < 1 or min(won, lost) < 0 or won + lost > n:
        raise ValueError(f"an interval needs won + lost <= n and n >= 1, not {won=} {lost=} {n=}")
    difference, pairs = won - lost, n + 2
    half = NormalDist().inv_cdf(0.5 + level / 2.0) * math.sqrt(won + lost + 1 - difference**2 / pairs) / pairs
    return max(-1.0, difference / pairs - half), min(1.0, difference / pairs + half)


def resampled_rates(
    strata: Sequence[Sequence[tuple[int, int]]], *, seed: int = 0, resamples: int = 2000
) -> list[float]:
    """The rates of bootstrap resamples of clusters, such as sessions, each given as (successes, trials).

    Within each stratum, such as a language, as many clusters as it has are drawn with replacement; the rate is the mean
    over strata (Davison and Hinkley 1997, sections 3.2 and 3.8). Deterministic for a seed.
    """
    rng = random.Random(seed)
    return [fmean(_rate(rng.choices(stratum, k=len(stratum))) for stratum in strata) for _ in range(resamples)]


def _rate(clusters: Sequence[tuple[int, int]]) -> float:
    return sum(successes for successes, _ in clusters) / sum(trials for _, trials in clusters)


def central_interval(values: Sequence[float], *, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval of resampled `values`."""
    ordered, tail = sorted(values), (1.0 - level) / 2.0
    return quantile(ordered, tail), quantile(ordered, 1.0 - tail)


def quantile(ordered: Sequence[float], fraction: float) -> float:
    """The value below which the fraction `fraction` of `ordered` lies, interpolated linearly."""
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


@dataclass(frozen=True, slots=True)
class PassRate:
    """pass@1 over `tasks` tasks, and its 95 % confidence interval by resampling families of tasks."""

    pass_at_1: float
    interval: tuple[float, float]
    tasks: int
