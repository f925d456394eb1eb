"""RLOO: REINFORCE with a leave-one-out baseline."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.scoring import leave_one_out

RLOO = Algorithm(
    name="rloo",
    source="Ahmadian et al. 2024, arXiv:2402.14740, section 2.3",
    advantage_function=leave_one_out,
    loss_normalization="constant",
)
"""A completion is one action: its advantage times the gradient of the sum of its log-probabilities, here divided by the
number of completions and, a constant, by their maximum length. The paper has no ratio and no clip; on-policy the ratio
is 1 and the clip changes nothing, and further updates on a batch stay bounded. `train.kl_coef` is a term of the loss,
where the paper subtracts the divergence from the reward."""
