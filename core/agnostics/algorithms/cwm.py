"""The algorithm of the Code World Model."""

from __future__ import annotations

from agnostics.algorithm import Algorithm
from agnostics.algorithms.overlong import fading_penalty
from agnostics.algorithms.rejection import is_gibberish

CWM = Algorithm(
    name="cwm",
    source="FAIR CodeGen team 2025, arXiv:2510.02387, sections 5.2, 5.4 and 12",
    scale_advantages=False,
    length_weighted=True,
    clip_high=0.25,
    loss_normalisation="constant",
    drop_silent=True,
    batch_tokens=131_072,
    max_staleness=8,
    length_reward=fading_penalty,
    rejection=is_gibberish,
)
"""Distances from the length-weighted mean return, clip-higher, a loss divided by the most tokens that a batch holds,
batches by tokens, and neither groups without signal nor stale trajectories nor gibberish; the length penalty fades out.
Where the text leaves a number open the choice is ours: the clip (0.2 and 0.25), 131,072 tokens, eight updates."""
