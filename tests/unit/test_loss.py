"""The clipped objective and the weights of tokens, against the paper's equation written as loops."""

from __future__ import annotations

import math

import pytest
import torch
from agnostics.train.loss import Normalisation, clipped_objective, sequence_weights

LOW, HIGH = 0.2, 0.28


def _frozen_batch() -> tuple[list[list[float]], list[list[float]], list[float]]:
    """Log-probabilities now, those at sampling time, and advantages of sequences of lengths 5, 1, 8 and 3."""
    generator = torch.Generator().manual_seed(7)
    lengths = [5, 1, 8, 3]
    behaviour = [(-3 * torch.rand(n, generator=generator)).tolist() for n in lengths]
    now = [[b + 0.5 * torch.randn(1, generator=generator).item() for b in row] for row in behaviour]
    return now, behaviour, [1.5, -0.5, -2.0, 0.7]


def _by_the_equation(normalisation: str) -> float:
    """The paper, section 3.3, token by token, with a clip for each side."""
    now, behaviour, advantages = _frozen_batch()
    means, total, tokens = [], 0.0, 0
    for row, old, advantage in zip(now, behaviour, advantages, strict=True):
        values = []
        for new_logprob, old_logprob in zip(row, old, strict=True):
            ratio = math.exp(new_logprob) / math.exp(old_logprob)
            clipped = max(1 - LOW, min(1 + HIGH, ratio))
            values.append(min(ratio * advantage, clipped * advantage))
        means.append(sum(values) / len(values))
        total, tokens = total + sum(values), tokens + len(values)
    return sum(means) / len(means) if normalisation == "sequence" else total / tokens


def _flat(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor([value for row in rows for value in row])


@pytest.mark.parametrize("normalisation", ["token", "sequence"])
def test_weighted_objective_is_the_papers_equation(normalisation: Normalisation) -> None:
    now, behaviour, advantages = _frozen_batch()
    lengths = [len(row) for row in now]
    repeated = torch.tensor(advantages).repeat_interleave(torch.tensor(lengths))
    weights = torch.tensor(sequence_weights(lengths, normalisation)).repeat_interleave(torch.tensor(lengths))
    objective = clipped_objective(_flat(now), _flat(behaviour), repeated, clip_low=LOW, clip_high=HIGH)
    assert (weights * objective.value).sum().item() == pytest.approx(_by_the_equation(normalisation), abs=1e-6)
    assert weights.sum().item() == pytest.approx(1.0)


def test_gradient_at_the_sampling_policy_is_the_policy_gradient() -> None:
    behaviour = torch.tensor([-0.3, -1.2, -2.0])
    logprobs = behaviour.clone().requires_grad_()
    advantages = torch.tensor([1.0, -1.0, 0.5])
    objective = clipped_objective(logprobs, behaviour, advantages, clip_low=LOW, clip_high=HIGH)
    torch.autograd.backward(objective.value.sum())
    assert logprobs.grad is not None
    assert torch.allclose(logprobs.grad, advantages)


def test_clip_stops_the_gradient_on_the_side_that_the_advantage_pushes_to() -> None:
    behaviour = torch.zeros(4)
    ratios = torch.tensor([1.5, 1.5, 0.5, 0.5])
    logprobs = ratios.log().requires_grad_()
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    objective = clipped_objective(logprobs, behaviour, advantages, clip_low=LOW, clip_high=HIGH)
    torch.autograd.backward(objective.value.sum())
    assert logprobs.grad is not None
    assert (logprobs.grad == 0).tolist() == [True, False, False, True]
    assert objective.clipped.tolist() == [True, False, False, True]


def test_upper_clip_may_be_wider_than_the_lower() -> None:
    inside = torch.tensor([1.27]).log()
    wide = clipped_objective(inside, torch.zeros(1), torch.ones(1), clip_low=0.2, clip_high=0.28)
    narrow = clipped_objective(inside, torch.zeros(1), torch.ones(1), clip_low=0.2, clip_high=0.2)
    assert not wide.clipped.item()
    assert narrow.clipped.item()
