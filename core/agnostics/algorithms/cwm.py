"""The algorithm of the Code World Model."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.scoring import fading_penalty, is_gibberish

CWM = Algorithm(
    name="cwm",
    source="FAIR CodeGen team 2025, arXiv:2510.02387, sections 5.2, 5.4 and 12",
    normalize_by_std=False,
    length_weighted=True,
    clip_high=0.25,
    loss_normalization="constant",
    filter_zero_advantage=True,
    batch_tokens=131_072,
    max_off_policy_steps=8,
    length_penalty=fading_penalty,
    rollout_filter=is_gibberish,
)
"""Distances from the length-weighted mean return, clip-higher, a loss divided by the most tokens that a batch holds,
batches by tokens from a queue, and no rollouts without advantage, stale ones or gibberish; the length penalty, which is
part of the return and so of the advantage, fades out.
Numbers that the paper leaves open are our choice: the clip (0.2 and 0.25), 131,072 tokens, eight updates."""
