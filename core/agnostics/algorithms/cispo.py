"""CISPO: clipped importance weights."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.scoring import soft_punishment

CISPO = Algorithm(
    name="cispo",
    source="MiniMax 2025, arXiv:2506.13585, section 3.1",
    clipping="weight",
    clip_low=1.0,
    clip_high=4.0,
    loss_normalization="token",
    filter_zero_variance=True,
    dynamic_sampling_rounds=3,
    length_penalty=soft_punishment,
)
"""The clip bounds a weight instead of removing a token's gradient (its equations 4 and 5); no lower bound, group
advantages and the mean over tokens, dynamic sampling and the length penalty of DAPO. The paper does not give its upper
bound: 5 is that of Khatri et al. 2025, "The Art of Scaling Reinforcement Learning Compute", arXiv:2510.13786."""
