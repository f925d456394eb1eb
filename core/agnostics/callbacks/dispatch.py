"""Watchers at work: each is told every figure, and one that fails is told no more."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from agnostics.callbacks.callback import Log, WatchedRun, Watcher
from agnostics.train.metrics import FIGURES
from agnostics.types.errors import describe_error
from agnostics.types.verification import Verdict

EVALUATIONS = ("eval_before", "eval_during", "eval_after")
"""The phases in which a training run tries held-out tasks."""

_log = logging.getLogger(__name__)


@contextmanager
def watched(watchers: Sequence[Watcher], run: WatchedRun) -> Iterator[Log]:
    """A function that gives every watcher the figures of a step, by the names that the store has for them."""
    with ExitStack() as stack:
        watches = [stack.enter_context(_Watch(watcher, run)) for watcher in watchers]

        def log(step: int, figures: Mapping[str, float]) -> None:
            named = shown(figures)
            for watch in watches:
                watch.log(step, named)

        yield log


def shown(figures: Mapping[str, float]) -> dict[str, float]:
    """Figures by the names that watchers know them by: one for what all evaluations have, so that it makes a curve."""
    return {_shown_name(name): value for name, value in figures.items()}


def _shown_name(name: str) -> str:
    for phase in EVALUATIONS:
        if name.startswith(f"{phase}_"):
            return f"held_out/{name.removeprefix(f'{phase}_')}"
    return f"train/{name}"


def meaning(shown_name: str) -> str:
    """What the figure is that watchers know as `shown_name`; nothing for one that is not among ours."""
    group, _, name = shown_name.partition("/")
    if group == "held_out":
        return FIGURES.get(f"PHASE_{name}", "")
    kind, _, verdict = name.partition("_")
    return FIGURES.get(f"{kind}_VERDICT" if verdict in set(Verdict) else name, "")


class _Watch:
    """One watcher, open until the first thing that it raises."""

    def __init__(self, watcher: Watcher, run: WatchedRun) -> None:
        self._watcher, self._run = watcher, run
        self._stack = ExitStack()
        self._log: Log | None = None
        self._failed = False

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Pass the figures on."""
        if self._log is not None:
            try:
                self._log(step, figures)
            except Exception as error:
                self._give_up(error)

    def __enter__(self) -> _Watch:
        try:
            self._log = self._stack.enter_context(self._watcher.watch(self._run))
        except Exception as error:
            self._give_up(error)
        return self

    def __exit__(self, *exception: Any) -> None:
        try:
            self._stack.__exit__(*exception)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if not self._failed:
            _log.warning(
                "%s takes down no more of this run, which goes on: %s", self._watcher.name, describe_error(error)
            )
        self._log, self._failed = None, True
