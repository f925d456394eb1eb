"""DAPO: decoupled clip and dynamic sampling."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.scoring import soft_punishment

DAPO = Algorithm(
    name="dapo",
    source="Yu et al. 2025, arXiv:2503.14476",
    clip_high=0.28,
    loss_normalization="token",
    filter_zero_variance=True,
    dynamic_sampling_rounds=3,
    length_penalty=soft_punishment,
)
"""Clip-higher (its section 3.1), new prompts for groups with equal rewards (3.2), the mean over tokens (3.3), and
soft overlong punishment (3.4). The paper samples until the batch is full; our bound of three rounds keeps a step finite
when every group has equal rewards."""
