"""Loss normalisation: what each token weighs in a batch, before the batch is split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agnostics.algorithms.algorithm import LossNormalization


@dataclass(frozen=True, slots=True)
class Totals:
    """What one update learns from, over all its micro batches, and over all ranks where there are several.

    `capacity` is the constant: the most tokens that the batch could hold.
    """

    sequences: int
    tokens: int
    capacity: int


def token_weights(lengths: Sequence[int], normalisation: LossNormalization, totals: Totals) -> list[float]:
    """What a token of each of these S sequences weighs, where the policy spoke `lengths` tokens: (S,) -> (S,).

    `token`: 1 / totals.tokens, the mean over all tokens of the batch (DAPO, equation 8).
    `sequence`: 1 / (totals.sequences |y_i|), the mean over sequences of their means (the paper, section 3.3).
    `constant`: 1 / totals.capacity, which no answer's length can change (Liu et al. 2025, "Dr. GRPO": the longest
    answer times the sequences; Code World Model, section 12: the maximum number of tokens in a batch).
    """
    if normalisation == "sequence":
        return [1.0 / (max(totals.sequences, 1) * max(length, 1)) for length in lengths]
    divisor = totals.tokens if normalisation == "token" else totals.capacity
    return [1.0 / max(divisor, 1)] * len(lengths)
