"""A reward policy under which nearly every group has a signal, whatever the starter model of this machine solves."""

from __future__ import annotations

from collections.abc import Sequence

from agnostics import Rollout


def length(rollouts: Sequence[Rollout]) -> list[float]:
    """A hundredth of each completion's characters."""
    return [len(rollout.text) / 100 for rollout in rollouts]
