"""Agnostics: teach any language model to program in any language, by running what it writes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agnostics.algorithms.algorithm import Algorithm
    from agnostics.callbacks.callback import MetricsLogger, RunCallback, RunInfo
    from agnostics.plugins.specs import hookimpl
    from agnostics.types.dataset import Dataset
    from agnostics.types.language import Language
    from agnostics.types.reward import RewardPolicy
    from agnostics.types.task import Comparison, Limits, Task, Test
    from agnostics.types.verification import Verdict, Verification

__all__ = [
    "Algorithm",
    "Comparison",
    "Dataset",
    "Language",
    "Limits",
    "MetricsLogger",
    "RewardPolicy",
    "RunCallback",
    "RunInfo",
    "Task",
    "Test",
    "Verdict",
    "Verification",
    "hookimpl",
]

_HOMES = {
    "Algorithm": "algorithms.algorithm",
    "Comparison": "types.task",
    "Dataset": "types.dataset",
    "Language": "types.language",
    "Limits": "types.task",
    "RewardPolicy": "types.reward",
    "Task": "types.task",
    "Test": "types.task",
    "Verdict": "types.verification",
    "Verification": "types.verification",
    "MetricsLogger": "callbacks.callback",
    "RunCallback": "callbacks.callback",
    "RunInfo": "callbacks.callback",
    "hookimpl": "plugins.specs",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import agnostics` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"agnostics.{_HOMES[name]}"), name)
