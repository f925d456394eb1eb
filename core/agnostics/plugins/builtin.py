"""What Agnostics brings along, registered through the hooks that every plugin uses."""

from __future__ import annotations

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.cwm import CWM
from agnostics.algorithms.dapo import DAPO
from agnostics.algorithms.dr_grpo import DR_GRPO
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.gspo import GSPO
from agnostics.callbacks.callback import RunCallback
from agnostics.callbacks.tensorboard import TensorBoardLogger
from agnostics.callbacks.wandb import WandbLogger
from agnostics.plugins.specs import hookimpl
from agnostics.types.reward import Accepted, RewardPolicy


@hookimpl
def agn_rewards() -> list[RewardPolicy]:
    """The reward of the paper."""
    return [Accepted()]


@hookimpl
def agn_algorithms() -> list[Algorithm]:
    """The paper's algorithm, and those it is compared with."""
    return [GRPO, DR_GRPO, DAPO, GSPO, CWM]


@hookimpl
def agn_callbacks() -> list[RunCallback]:
    """The loggers of metrics."""
    return [TensorBoardLogger(), WandbLogger()]
