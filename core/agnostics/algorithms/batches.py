"""Batches by tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def batches_by_tokens(lengths: Sequence[int], limit: int) -> Iterator[range]:
    """Consecutive ranges of sequences of these `lengths`, as many in a batch as `limit` tokens allow; at least one.

    Code World Model, sections 5.2 ("Batching strategy") and 12: trajectories are taken from a queue until a limit of
    tokens is reached, so that the size of updates varies little; a group may be split between updates.
    """
    first, tokens = 0, 0
    for place, length in enumerate(lengths):
        if place > first and tokens + length > limit:
            yield range(first, place)
            first, tokens = place, 0
        tokens += length
    if lengths:
        yield range(first, len(lengths))
