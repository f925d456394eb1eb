"""GSPO: the importance ratio of whole sequences."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Algorithm

GSPO = Algorithm(
    name="gspo",
    source="Zheng et al. 2025, arXiv:2507.18071",
    ratio_level="sequence",
    clip_low=3e-4,
    clip_high=4e-4,
    loss_normalization="sequence",
)
"""A ratio for each sequence, clipped as a whole (its equations 5 and 7), with the paper's narrow clip (section 5.1) and
the mean over sequences."""
