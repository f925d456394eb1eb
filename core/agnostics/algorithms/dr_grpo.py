"""Dr. GRPO: GRPO without its two biases."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Algorithm

DR_GRPO = Algorithm(
    name="dr_grpo",
    source='Liu et al. 2025, "Understanding R1-Zero-Like Training", arXiv:2503.20783',
    normalize_by_std=False,
    loss_normalization="constant",
)
"""Dividing by the standard deviation favours prompts that are almost always or almost never solved, and dividing by a
completion's length favours long wrong completions: neither is done."""
