"""DAPO: decoupled clip and dynamic sampling."""

from __future__ import annotations

from agnostics.algorithm import Algorithm
from agnostics.algorithms.overlong import soft_punishment

DAPO = Algorithm(
    name="dapo",
    source="Yu et al. 2025, arXiv:2503.14476",
    clip_high=0.28,
    loss_normalisation="token",
    drop_silent=True,
    refill=3,
    length_reward=soft_punishment,
)
"""Clip-higher (its section 3.1), new prompts in place of groups without signal (3.2), the mean over tokens (3.3), and
soft overlong punishment (3.4). The paper samples until the batch is full; our bound of three rounds keeps a step finite
where nothing is learnt any more."""
