"""Quasi-random designs: batch sizes and learning rates that cover their ranges evenly on a logarithmic scale."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import qmc

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class SobolPoint:
    """A batch size in tokens and a learning rate to try at a scale."""

    batch_tokens: int
    learning_rate: float


def sobol_candidates(count: int, batch_tokens: Range, learning_rate: Range, seed: int) -> list[SobolPoint]:
    """`count` candidates, a power of two, from a two-dimensional Sobol sequence (section 14.2 of the paper).

    The sequence is scrambled by `seed` (Owen 1998) and rescaled to the logarithms of the ranges. A power of two keeps
    its balance: each half, quarter, … of either range has as many candidates as the others.
    """
    if count < 1 or count & (count - 1):
        raise ValueError(f"a Sobol design needs a power of two, not {count}")
    points = qmc.Sobol(d=2, scramble=True, seed=seed).random_base2(count.bit_length() - 1)
    return [
        SobolPoint(round(_between(batch_tokens, float(batch))), _between(learning_rate, float(rate)))
        for batch, rate in points
    ]


def _between(ends: Range, fraction: float) -> float:
    low, high = ends
    return float(low * (high / low) ** fraction)
