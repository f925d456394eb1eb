"""The built-in parts, registered through the hooks that every plugin uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.cispo import CISPO
from agnostics.algorithms.cwm import CWM
from agnostics.algorithms.dapo import DAPO
from agnostics.algorithms.dr_grpo import DR_GRPO
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.gspo import GSPO
from agnostics.algorithms.reinforce_plus_plus import REINFORCE_PLUS_PLUS, REINFORCE_PLUS_PLUS_BASELINE
from agnostics.algorithms.rloo import RLOO
from agnostics.callbacks.callback import RunCallback
from agnostics.callbacks.tensorboard import TensorBoardLogger
from agnostics.callbacks.wandb import WandbLogger
from agnostics.inference.provider import BUILTIN_PROVIDERS, EngineProvider
from agnostics.plugins.specs import CONTRACT_VERSION, hookimpl
from agnostics.types.reward import Accepted, Format, PassedTests, RewardPolicy, Steps

if TYPE_CHECKING:
    from agnostics.environments.environment import Environment
    from agnostics.players.player import Player
    from agnostics.sandbox.backend import SandboxBackend

AGN_CONTRACT = CONTRACT_VERSION


@hookimpl
def agn_rewards() -> list[RewardPolicy]:
    """The reward of the paper, and those with a partial signal."""
    return [Accepted(), PassedTests(), Steps(), Format()]


@hookimpl
def agn_environments() -> Iterable[Environment[Any]]:
    """The single answer, and episodes of several turns; imported when an environment is looked up."""
    from agnostics.environments.builtin import BUILTIN_ENVIRONMENTS
    from agnostics.referee.environment import ProtocolSession

    return [*BUILTIN_ENVIRONMENTS, ProtocolSession()]


@hookimpl
def agn_algorithms() -> list[Algorithm]:
    """The paper's algorithm, and those it is compared with."""
    return [GRPO, DR_GRPO, DAPO, GSPO, CWM, CISPO, RLOO, REINFORCE_PLUS_PLUS, REINFORCE_PLUS_PLUS_BASELINE]


@hookimpl
def agn_engines() -> Iterable[EngineProvider]:
    """vLLM and transformers."""
    return BUILTIN_PROVIDERS


@hookimpl
def agn_sandboxes() -> Iterable[SandboxBackend]:
    """Docker, bubblewrap and plain processes; imported when a sandbox is looked up."""
    from agnostics.sandbox.backends import BUILTIN_BACKENDS

    return BUILTIN_BACKENDS


@hookimpl
def agn_callbacks() -> list[RunCallback]:
    """The loggers of metrics."""
    return [TensorBoardLogger(), WandbLogger()]


@hookimpl
def agn_players() -> Iterable[Player]:
    """The replay of recorded programs, and models without agent software; imported when a player is looked up."""
    from agnostics.players.bare import BareModel
    from agnostics.players.direct import DirectModel
    from agnostics.players.replay import Replay

    return [BareModel(), DirectModel(), Replay()]
