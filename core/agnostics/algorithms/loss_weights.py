"""Loss normalization: the weight of each token in an update, before the update is split into micro batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

LossNormalization = Literal["token", "sequence", "constant"]


@dataclass(frozen=True, slots=True)
class BatchTotals:
    """Totals of one update, over all its micro batches and all ranks.

    `capacity` is the constant: the most tokens that the update could hold.
    """

    sequences: int
    tokens: int
    capacity: int


def token_weights(lengths: Sequence[int], normalization: LossNormalization, totals: BatchTotals) -> list[float]:
    """The weight of a token of each of S sequences with `lengths` sampled tokens: (S,) -> (S,).

    `token`: 1 / totals.tokens, the mean over all tokens of the batch (DAPO, equation 8).
    `sequence`: 1 / (totals.sequences |y_i|), the mean over sequences of their means (the paper, section 3.3).
    `constant`: 1 / totals.capacity, which no completion's length changes (Liu et al. 2025, "Dr. GRPO": the maximum
    length times the sequences; Code World Model, section 12: the maximum number of tokens in a batch).
    """
    if normalization == "sequence":
        return [1.0 / (max(totals.sequences, 1) * max(length, 1)) for length in lengths]
    divisor = totals.tokens if normalization == "token" else totals.capacity
    return [1.0 / max(divisor, 1)] * len(lengths)
