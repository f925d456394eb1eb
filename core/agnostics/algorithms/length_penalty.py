"""Length penalties: rewards of completions that come close to the maximum length."""

from __future__ import annotations

from dataclasses import dataclass

_CACHE = 0.2
"""The part of the limit over which DAPO's penalty grows: 4,096 of 20,480 tokens in its section 4.1."""
_SOFT_LIMIT = 0.5
"""Where CWM's penalty begins at first, as a part of the limit; the choice is ours."""
_FADED = 0.5
"""The part of the training after which CWM's penalty is gone; the choice is ours."""


@dataclass(frozen=True, slots=True)
class CompletionLength:
    """The sampled `tokens` of a completion of at most `limit`, when `progress` (0 to 1) of the training is done."""

    tokens: int
    limit: int
    progress: float


def soft_punishment(reward: float, length: CompletionLength) -> float:
    """The reward plus DAPO's soft overlong punishment (Yu et al. 2025, equation 13).

    With |y| tokens sampled of at most L, and C = 0.2 L: 0 where |y| <= L - C, -1 where |y| >= L, and
    (L - C - |y|) / C between.
    """
    cache = _CACHE * length.limit
    return reward + min(0.0, max(-1.0, (length.limit - cache - length.tokens) / cache))


def fading_penalty(reward: float, length: CompletionLength) -> float:
    """The reward with CWM's penalty for long completions in the first part of the training.

    Code World Model, section 5.4, "Length reward scheduling": between a soft limit and the limit L the reward of a
    correct completion falls along a line, here from R to 0, so that it stays positive below L; the soft limit rises
    from L/2 to L over the first half of the training, after which there is no penalty.
    """
    risen = min(1.0, length.progress / _FADED)
    soft = length.limit * (_SOFT_LIMIT + (1.0 - _SOFT_LIMIT) * risen)
    if reward <= 0 or length.tokens <= soft or risen == 1.0:
        return reward
    return reward * max(0.0, (length.limit - length.tokens) / (length.limit - soft))
