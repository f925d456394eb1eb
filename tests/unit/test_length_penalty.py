"""Rewards of long completions: DAPO's punishment and CWM's penalty that fades out."""

from __future__ import annotations

import pytest
from agnostics.algorithms.scoring import CompletionLength, fading_penalty, soft_punishment
from hypothesis import given
from hypothesis import strategies as st

PROGRESS = st.floats(0, 1)


@pytest.mark.parametrize(
    ("tokens", "punishment"),
    [(0, 0.0), (16_384, 0.0), (17_408, -0.25), (18_432, -0.5), (20_480, -1.0), (30_000, -1.0)],
)
def test_soft_punishment_is_dapos_equation_13(tokens: int, punishment: float) -> None:
    """Its own numbers: 20,480 tokens at most, a cache of 4,096."""
    for reward in (0.0, 1.0):
        assert soft_punishment(reward, CompletionLength(tokens, 20_480, 0.3)) == pytest.approx(reward + punishment)


@pytest.mark.parametrize(
    ("tokens", "progress", "reward"),
    [
        (50, 0.0, 1.0),
        (75, 0.0, 0.5),
        (99, 0.0, 0.02),
        (75, 0.25, 1.0),
        (80, 0.25, 0.8),
        (99, 0.5, 1.0),
        (100, 1.0, 1.0),
    ],
)
def test_penalty_falls_from_the_soft_limit_which_rises_to_the_limit(
    tokens: int, progress: float, reward: float
) -> None:
    assert fading_penalty(1.0, CompletionLength(tokens, 100, progress)) == pytest.approx(reward)


@given(st.integers(0, 2000), st.integers(1, 1024), PROGRESS)
def test_a_wrong_completion_is_not_penalised_and_a_right_one_keeps_a_positive_signal(
    tokens: int, limit: int, progress: float
) -> None:
    length = CompletionLength(tokens, limit, progress)
    assert fading_penalty(0.0, length) == 0.0
    assert 0.0 <= fading_penalty(1.0, length) <= 1.0
    assert fading_penalty(1.0, length) > 0 or tokens >= limit


@given(st.integers(0, 1024), st.integers(1, 1024), PROGRESS, PROGRESS)
def test_penalty_only_ever_fades(tokens: int, limit: int, one: float, other: float) -> None:
    early, late = sorted([one, other])
    assert (
        fading_penalty(1.0, CompletionLength(tokens, limit, early))
        <= fading_penalty(1.0, CompletionLength(tokens, limit, late)) + 1e-12
    )
