"""Agnostics: teach any language model to program in any language, by running what it writes.

The names in `__all__` are the public interface. Plugins import nothing else, except `agnostics.testing` in their tests.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agnostics.algorithms.algorithm import Algorithm
    from agnostics.callbacks.callback import MetricsLogger, RunCallback, RunInfo
    from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Observation, Transition
    from agnostics.inference.engine import Completion, CompletionRequest, Engine, EngineSettings, SamplingParams
    from agnostics.inference.provider import EngineProvider
    from agnostics.players.agent import Agent, AgentCommand, Invocation
    from agnostics.players.agent_package import AgentPackage, npm_platform
    from agnostics.players.player import Game, Player
    from agnostics.plugins.specs import hookimpl
    from agnostics.referee.referee import Referee
    from agnostics.referee.replies import Reply
    from agnostics.sandbox.backend import SandboxBackend, Slot, SlotFactory
    from agnostics.sandbox.harness_binary import harness_path
    from agnostics.sandbox.protocol import RunResult, handshake
    from agnostics.sandbox.session import Session, SessionError
    from agnostics.sandbox.session_pool import SessionPool
    from agnostics.sandbox.slot_options import Mount, SlotOptions
    from agnostics.types.dataset import Dataset, HubSource
    from agnostics.types.errors import (
        AgnosticsError,
        MissingRequirement,
        UsageError,
        describe_error,
        unknown_name_error,
    )
    from agnostics.types.language import Language
    from agnostics.types.reward import RewardPolicy
    from agnostics.types.rollout import Action, Rollout, ToolCallRecord, Turn
    from agnostics.types.task import (
        FILE_NAME_PATTERN,
        Checker,
        Comparison,
        LimitOverrides,
        Limits,
        PromptFormat,
        Task,
        Test,
    )
    from agnostics.types.verification import TestResult, Verdict, Verification

__version__ = "0.1.0"
"""The version of every distribution of this repository; it is written nowhere else."""

__all__ = [
    "FILE_NAME_PATTERN",
    "Action",
    "Agent",
    "AgentCommand",
    "AgentPackage",
    "AgnosticsError",
    "Algorithm",
    "Checker",
    "Comparison",
    "Completion",
    "CompletionRequest",
    "Dataset",
    "Engine",
    "EngineProvider",
    "EngineSettings",
    "Environment",
    "Episode",
    "EpisodeLimits",
    "Game",
    "HubSource",
    "Invocation",
    "Language",
    "LimitOverrides",
    "Limits",
    "MetricsLogger",
    "MissingRequirement",
    "Mount",
    "Observation",
    "Player",
    "PromptFormat",
    "Referee",
    "Reply",
    "RewardPolicy",
    "Rollout",
    "RunCallback",
    "RunInfo",
    "RunResult",
    "SamplingParams",
    "SandboxBackend",
    "Session",
    "SessionError",
    "SessionPool",
    "Slot",
    "SlotFactory",
    "SlotOptions",
    "Task",
    "Test",
    "TestResult",
    "ToolCallRecord",
    "Transition",
    "Turn",
    "UsageError",
    "Verdict",
    "Verification",
    "describe_error",
    "handshake",
    "harness_path",
    "hookimpl",
    "npm_platform",
    "unknown_name_error",
]

_NAMES_OF_MODULES = {
    "algorithms.algorithm": ("Algorithm",),
    "callbacks.callback": ("MetricsLogger", "RunCallback", "RunInfo"),
    "environments.environment": ("Environment", "Episode", "EpisodeLimits", "Observation", "Transition"),
    "inference.engine": ("Completion", "CompletionRequest", "Engine", "EngineSettings", "SamplingParams"),
    "inference.provider": ("EngineProvider",),
    "players.agent": ("Agent", "AgentCommand", "Invocation"),
    "players.agent_package": ("AgentPackage", "npm_platform"),
    "players.player": ("Game", "Player"),
    "plugins.specs": ("hookimpl",),
    "referee.referee": ("Referee",),
    "referee.replies": ("Reply",),
    "sandbox.backend": ("SandboxBackend", "Slot", "SlotFactory"),
    "sandbox.harness_binary": ("harness_path",),
    "sandbox.protocol": ("RunResult", "handshake"),
    "sandbox.session": ("Session", "SessionError"),
    "sandbox.session_pool": ("SessionPool",),
    "sandbox.slot_options": ("Mount", "SlotOptions"),
    "types.dataset": ("Dataset", "HubSource"),
    "types.errors": ("AgnosticsError", "MissingRequirement", "UsageError", "describe_error", "unknown_name_error"),
    "types.language": ("Language",),
    "types.reward": ("RewardPolicy",),
    "types.rollout": ("Action", "Rollout", "ToolCallRecord", "Turn"),
    "types.task": (
        "FILE_NAME_PATTERN",
        "Checker",
        "Comparison",
        "LimitOverrides",
        "Limits",
        "PromptFormat",
        "Task",
        "Test",
    ),
    "types.verification": ("TestResult", "Verdict", "Verification"),
}
_MODULE_OF = {name: module for module, names in _NAMES_OF_MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import agnostics` costs nothing."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"agnostics.{_MODULE_OF[name]}"), name)
