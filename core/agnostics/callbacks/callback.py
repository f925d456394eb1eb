"""Watchers: where the figures of a run go besides the results database, as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

Log = Callable[[int, Mapping[str, float]], None]
"""(step, figures by name) -> nothing. A step's figures come in one call, those of an evaluation after it in another."""


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """What a watcher is told of a run. Names of figures begin with `train/` or `held_out/`."""

    id: str
    folder: Path
    """The run's folder. What a watcher writes goes into a folder of its own in it."""
    config: Mapping[str, Any]
    """Every setting, without passwords."""
    history: Mapping[int, Mapping[str, float]]
    """The figures of a resumed run by step, up to the one from which it goes on."""
    meaning: Callable[[str], str]
    """What a figure is, by its name; nothing where it has no description."""

    @property
    def next_step(self) -> int:
        """The first step of which nothing is known yet; 0 is the evaluation before training."""
        return max(self.history, default=-1) + 1


@runtime_checkable
class Watcher(Protocol):
    """Something that takes down the figures of runs, registered through `agn_watchers` and chosen by its name."""

    @property
    def name(self) -> str: ...

    def require(self) -> None:
        """Raise MissingRequirement where a package is missing; called before anything else is done."""

    def watch(self, run: WatchedRun) -> AbstractContextManager[Log]:
        """Take down what `run` does, until the block is left.

        What it raises costs the run nothing: it is told of once, and the watcher is asked no more.
        """
