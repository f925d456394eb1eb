"""The plugin contract: every hook that `agn` calls, and the marker with which a plugin implements one.

A plugin is a module (or an object) named by an entry point in the group `agnostics`; its functions that carry
`@hookimpl` are called. A registry hook returns objects of one base class, each with a `name` that users choose it by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import click

    from agnostics.algorithms.algorithm import Algorithm
    from agnostics.callbacks.callback import RunCallback
    from agnostics.environments.environment import Environment
    from agnostics.inference.provider import EngineProvider
    from agnostics.players.player import Player
    from agnostics.sandbox.backend import SandboxBackend
    from agnostics.types.dataset import Dataset
    from agnostics.types.language import Language
    from agnostics.types.reward import RewardPolicy
    from agnostics.types.verification import Verification

GROUP = "agnostics"
CONTRACT_VERSION = 2
"""The version of this contract. A plugin declares the versions it supports: `AGN_CONTRACT = 2`, or a range."""
CHANGES = {
    2: "reward policies get rollouts instead of verifications, and agn_callbacks replaces agn_watchers",
}
"""The changes that each version of the contract requires of plugins written for the one before."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@hookspec
def agn_languages() -> Iterable[Language]:  # type: ignore[empty-body]
    """The languages that this plugin provides."""


@hookspec
def agn_datasets() -> Iterable[Dataset]:  # type: ignore[empty-body]
    """The dataset adapters that this plugin provides."""


@hookspec
def agn_rewards() -> Iterable[RewardPolicy]:  # type: ignore[empty-body]
    """The reward policies that this plugin provides."""


@hookspec
def agn_environments() -> Iterable[Environment[Any]]:  # type: ignore[empty-body]
    """The environments that this plugin provides."""


@hookspec
def agn_algorithms() -> Iterable[Algorithm]:  # type: ignore[empty-body]
    """The algorithms that this plugin provides."""


@hookspec
def agn_callbacks() -> Iterable[RunCallback]:  # type: ignore[empty-body]
    """The run callbacks that this plugin provides: loggers of metrics, for example."""


@hookspec
def agn_engines() -> Iterable[EngineProvider]:  # type: ignore[empty-body]
    """The inference engines that this plugin provides."""


@hookspec
def agn_sandboxes() -> Iterable[SandboxBackend]:  # type: ignore[empty-body]
    """The sandbox backends that this plugin provides."""


@hookspec
def agn_players() -> Iterable[Player]:  # type: ignore[empty-body]
    """The players of agent sessions that this plugin provides."""


@hookspec
def agn_commands(group: click.Group) -> None:
    """Add commands to `agn` with `group.add_command`."""


@hookspec
def agn_run_started(run: str) -> None:
    """A run has begun; `run` is its id."""


@hookspec
def agn_program_verified(run: str, verification: Verification) -> None:
    """A program of `run` has its verdict. Called on the thread that trains: return quickly."""


@hookspec
def agn_step_finished(run: str, metrics: Mapping[str, float]) -> None:
    """A training step of `run` is done; `metrics` are its metrics by name."""


@hookspec
def agn_run_finished(run: str) -> None:
    """A run has ended, whether or not it reached its last step."""
