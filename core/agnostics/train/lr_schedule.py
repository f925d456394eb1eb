"""The learning rate of each step."""

from __future__ import annotations

import math


def learning_rate_at(step: int, *, steps: int, warmup: float, peak: float) -> float:
    """The learning rate of step `step` of `steps`, counted from 1: linear warm-up, cosine decay.

    It rises over `warmup` steps to `peak` and falls to zero just after the last step (the paper, section 3.3). It
    depends on the step's number alone, so that a resumed run continues unchanged.
    """
    if step <= warmup:
        return peak * step / max(warmup, 1.0)
    progress = (step - max(warmup, 1.0)) / max(steps - max(warmup, 1.0) + 1, 1.0)
    return peak * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))
