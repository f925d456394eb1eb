"""Group advantages, against the formula written out with numpy-free arithmetic and torch."""

from __future__ import annotations

import math

import pytest
import torch
from agnostics.train.advantage import group_advantages


def test_advantages_are_rewards_in_standard_deviations_from_the_mean() -> None:
    rewards = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    values = torch.tensor(rewards)
    expected = (values - values.mean()) / values.std(correction=0)
    assert group_advantages(rewards) == pytest.approx(expected.tolist())


def test_one_right_answer_among_many_stands_out_by_the_root_of_its_odds() -> None:
    advantages = group_advantages([1.0] + [0.0] * 31)
    assert advantages[0] == pytest.approx(math.sqrt(31))
    assert advantages[1:] == pytest.approx([-1 / math.sqrt(31)] * 31)


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.1])
def test_a_group_without_spread_has_no_advantage(reward: float) -> None:
    assert group_advantages([reward] * 7) == [0.0] * 7


def test_a_masked_reward_neither_counts_nor_gets_an_advantage() -> None:
    assert group_advantages([1.0, None, 0.0]) == [pytest.approx(1.0), None, pytest.approx(-1.0)]
    assert group_advantages([None, None]) == [None, None]


def test_unscaled_advantages_are_distances_from_the_mean() -> None:
    assert group_advantages([1.0, 0.0, 0.0, 0.0], scale=False) == pytest.approx([0.75, -0.25, -0.25, -0.25])
