"""REINFORCE++: advantages that are normalised over the whole batch."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.scoring import rewards_alone

_SOURCE = "Hu et al. 2025, arXiv:2501.03262, section 3"

REINFORCE_PLUS_PLUS = Algorithm(
    name="reinforce++", source=_SOURCE, advantage_function=rewards_alone, normalize_over_batch=True
)
"""The batch is the baseline: rewards less their mean over all tokens of the step, in standard deviations, with the clip
of PPO. `train.kl_coef` is a term of the loss, where the paper subtracts the divergence from each token's reward."""

REINFORCE_PLUS_PLUS_BASELINE = Algorithm(
    name="reinforce++-baseline", source=_SOURCE, normalize_by_std=False, normalize_over_batch=True
)
"""The variant for groups, "w/ baseline": first the mean of the group is subtracted, then the batch is normalised.
`train.kl_coef` takes the estimator of GRPO (k3), where the paper takes k2."""
