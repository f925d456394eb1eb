"""Agnostics: teach any language model to program in any language, by running what it writes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agnostics.algorithm import Algorithm
    from agnostics.dataset import Dataset
    from agnostics.hookspecs import hookimpl
    from agnostics.language import Language
    from agnostics.reward import RewardPolicy
    from agnostics.task import Comparison, Limits, Task, Test
    from agnostics.verification import Verdict, Verification
    from agnostics.watcher import WatchedRun, Watcher

__all__ = [
    "Algorithm",
    "Comparison",
    "Dataset",
    "Language",
    "Limits",
    "RewardPolicy",
    "Task",
    "Test",
    "Verdict",
    "Verification",
    "WatchedRun",
    "Watcher",
    "hookimpl",
]

_HOMES = {
    "Algorithm": "algorithm",
    "Comparison": "task",
    "Dataset": "dataset",
    "Language": "language",
    "Limits": "task",
    "RewardPolicy": "reward",
    "Task": "task",
    "Test": "task",
    "Verdict": "verification",
    "Verification": "verification",
    "WatchedRun": "watcher",
    "Watcher": "watcher",
    "hookimpl": "hookspecs",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import agnostics` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"agnostics.{_HOMES[name]}"), name)
