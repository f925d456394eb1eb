"""GRPO as in the paper."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Algorithm

GRPO = Algorithm(name="grpo", source="the paper (section 3.3); Shao et al. 2024, arXiv:2402.03300")
"""Group advantages in standard deviations, one epsilon for both sides of the clip, no divergence; as "common tweaks"
(Yu et al. 2025) the mean is over all tokens of the batch. `loss_normalization = "sequence"` is the equation as
printed."""
