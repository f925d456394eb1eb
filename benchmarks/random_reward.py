"""The control of benchmarks/real_model.py: rewards by chance, which know nothing of the verdict.

agn run --set reward=benchmarks/random_reward.py:random_reward
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from agnostics import Rollout


def random_reward(rollouts: Sequence[Rollout]) -> list[float]:
    """1 for about a quarter of the completions, chosen by a digest of task, number and text, so that runs repeat."""
    keys = (f"{rollout.task.id}/{rollout.sample}/{rollout.text}" for rollout in rollouts)
    return [float(hashlib.sha256(key.encode(errors="replace")).digest()[0] < 64) for key in keys]
