"""Rewards for answers that come close to the limit of their length."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Length

_CACHE = 0.2
"""The part of the limit over which DAPO's penalty grows: 4,096 of 20,480 tokens in its section 4.1."""
_SOFT_LIMIT = 0.5
"""Where CWM's penalty begins at first, as a part of the limit; the choice is ours."""
_FADED = 0.5
"""The part of the training after which CWM's penalty is gone; the choice is ours."""


def soft_punishment(reward: float, length: Length) -> float:
    """The reward plus DAPO's soft overlong punishment (Yu et al. 2025, equation 13).

    With |y| tokens spoken of at most L, and C = 0.2 L: 0 where |y| <= L - C, -1 where |y| >= L, and
    (L - C - |y|) / C between.
    """
    cache = _CACHE * length.limit
    return reward + min(0.0, max(-1.0, (length.limit - cache - length.tokens) / cache))


def fading_penalty(reward: float, length: Length) -> float:
    """The reward, if there is one, less what CWM takes from long answers in the first part of the training.

    Code World Model, section 5.4, "Length reward scheduling": between a soft limit and the limit L the reward of a
    right answer falls along a line, here from R to 0, so that it stays positive below L; the soft limit rises from L/2
    to L over the first half of the training, after which nothing is taken.
    """
    risen = min(1.0, length.progress / _FADED)
    soft = length.limit * (_SOFT_LIMIT + (1.0 - _SOFT_LIMIT) * risen)
    if reward <= 0 or length.tokens <= soft or risen == 1.0:
        return reward
    return reward * max(0.0, (length.limit - length.tokens) / (length.limit - soft))
