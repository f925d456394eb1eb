"""What Agnostics brings along, registered through the hooks that every plugin uses."""

from __future__ import annotations

from agnostics.hookspecs import hookimpl
from agnostics.reward import Accepted, RewardPolicy


@hookimpl
def agn_rewards() -> list[RewardPolicy]:
    """The reward of the paper."""
    return [Accepted()]
