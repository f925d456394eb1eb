"""What Agnostics brings along, registered through the hooks that every plugin uses."""

from __future__ import annotations

from agnostics.algorithm import Algorithm
from agnostics.algorithms.cwm import CWM
from agnostics.algorithms.dapo import DAPO
from agnostics.algorithms.dr_grpo import DR_GRPO
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.gspo import GSPO
from agnostics.hookspecs import hookimpl
from agnostics.reward import Accepted, RewardPolicy
from agnostics.watcher import Watcher
from agnostics.watchers.tensorboard import TensorBoard
from agnostics.watchers.wandb import WeightsAndBiases


@hookimpl
def agn_rewards() -> list[RewardPolicy]:
    """The reward of the paper."""
    return [Accepted()]


@hookimpl
def agn_algorithms() -> list[Algorithm]:
    """The paper's algorithm, and those it is compared with."""
    return [GRPO, DR_GRPO, DAPO, GSPO, CWM]


@hookimpl
def agn_watchers() -> list[Watcher]:
    """What people watch training runs with."""
    return [TensorBoard(), WeightsAndBiases()]
