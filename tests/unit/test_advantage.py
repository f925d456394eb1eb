"""Group advantages, against the formulas written out, and what they must be whatever the rewards are."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import pytest
from agnostics.algorithms.scoring import group_advantages, leave_one_out, token_statistics
from hypothesis import given
from hypothesis import strategies as st

REWARDS = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=32)


def test_advantages_are_rewards_in_standard_deviations_from_the_mean() -> None:
    rewards = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    mean, deviation = statistics.fmean(rewards), statistics.pstdev(rewards)
    assert group_advantages(rewards) == pytest.approx([(reward - mean) / deviation for reward in rewards])


def test_one_accepted_rollout_among_many_stands_out_by_the_root_of_its_odds() -> None:
    advantages = group_advantages([1.0] + [0.0] * 31)
    assert advantages[0] == pytest.approx(math.sqrt(31))
    assert advantages[1:] == pytest.approx([-1 / math.sqrt(31)] * 31)


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.1])
@pytest.mark.parametrize("weights", [None, [3.0, 1.0, 2.0, 9.0, 1.0, 1.0, 5.0]])
def test_a_group_without_spread_has_no_advantage(reward: float, weights: list[float] | None) -> None:
    assert group_advantages([reward] * 7, weights=weights) == [0.0] * 7


def test_advantages_without_normalization_are_distances_from_the_mean() -> None:
    assert group_advantages([1.0, 0.0, 0.0, 0.0], normalize_by_std=False) == pytest.approx([0.75, -0.25, -0.25, -0.25])


def test_length_weighted_mean_return_counts_tokens() -> None:
    """One accepted rollout of 10 tokens beside wrong ones of 30 and 60: the mean return is 10 / 100."""
    advantages = group_advantages([1.0, 0.0, 0.0], normalize_by_std=False, weights=[10, 30, 60])
    assert advantages == pytest.approx([0.9, -0.1, -0.1])


def test_rollouts_without_a_token_weigh_alike() -> None:
    assert group_advantages([1.0, 0.0], normalize_by_std=False, weights=[0, 0]) == [0.5, -0.5]


def test_leave_one_out_compares_with_the_mean_of_the_others() -> None:
    rewards = [2.0, 0.5, 1.5, -0.5]
    expected = []
    for place, reward in enumerate(rewards):
        others = rewards[:place] + rewards[place + 1 :]
        expected.append(reward - sum(others) / len(others))
    assert leave_one_out(rewards, [1, 2, 3, 4]) == pytest.approx(expected)
    assert expected == pytest.approx([1.5, -0.5, 5 / 6, -11 / 6])


@pytest.mark.parametrize("rewards", [[], [1.0]])
def test_leave_one_out_has_nothing_to_compare_a_single_rollout_with(rewards: list[float]) -> None:
    assert leave_one_out(rewards, [5] * len(rewards)) == [0.0] * len(rewards)


@given(REWARDS)
def test_leave_one_out_is_the_distance_from_the_mean_but_for_a_factor(rewards: list[float]) -> None:
    size = len(rewards)
    factor = size / (size - 1) if size > 1 else 0.0
    expected = [factor * distance for distance in group_advantages(rewards, normalize_by_std=False)]
    assert leave_one_out(rewards, [1] * size) == pytest.approx(expected, abs=1e-12)


@given(REWARDS, st.data())
def test_statistics_over_tokens_are_those_of_each_tokens_value(rewards: list[float], data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 50), min_size=len(rewards), max_size=len(rewards)))
    tokens = [reward for reward, length in zip(rewards, lengths, strict=True) for _ in range(length)]
    found = token_statistics(rewards, lengths)
    assert found == pytest.approx((statistics.fmean(tokens), statistics.pstdev(tokens)), abs=1e-9)


def test_rollouts_without_a_token_have_no_statistics() -> None:
    assert token_statistics([1.0, 0.0], [0, 0]) == token_statistics([], []) == (0.0, 0.0)


@given(REWARDS)
def test_normalized_advantages_have_mean_zero_and_variance_one(rewards: list[float]) -> None:
    advantages = group_advantages(rewards)
    size = len(rewards)
    assert math.fsum(advantages) == pytest.approx(0.0, abs=1e-9)
    variance = math.fsum(advantage**2 for advantage in advantages) / size
    assert variance == pytest.approx(1.0 if len(set(rewards)) > 1 else 0.0)


@given(REWARDS, st.data())
def test_length_weighted_advantages_sum_to_zero_over_tokens(rewards: list[float], data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 1024), min_size=len(rewards), max_size=len(rewards)))
    advantages = group_advantages(rewards, normalize_by_std=False, weights=lengths)
    mean = sum(Fraction(r) * n for r, n in zip(rewards, lengths, strict=True)) / sum(lengths)
    spread = len(set(rewards)) > 1
    assert advantages == pytest.approx([float(Fraction(r) - mean) if spread else 0.0 for r in rewards], abs=1e-12)
