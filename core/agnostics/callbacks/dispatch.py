"""Callback dispatch: one list of callbacks that is told everything of a run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agnostics.callbacks.callback import RunCallback, RunInfo, RunStatus
from agnostics.profiling.spans import Span
from agnostics.types.errors import describe
from agnostics.types.rollout import Phase, Rollout
from agnostics.util.statistics import PassRate

_log = logging.getLogger(__name__)


class CallbackList(RunCallback):
    """Passes everything on to each callback in turn. Errors propagate; see `Isolated` for callbacks of plugins."""

    def __init__(self, callbacks: Sequence[RunCallback] = ()) -> None:
        self._callbacks = list(callbacks)
        self._started: list[RunCallback] = []

    def message(self, text: str) -> None:
        """See `RunCallback.message`."""
        for callback in self._callbacks:
            callback.message(text)

    def run_started(self, run: RunInfo) -> None:
        """See `RunCallback.run_started`."""
        for callback in self._callbacks:
            callback.run_started(run)
            self._started.append(callback)

    def rollouts_finished(self, step: int, phase: Phase, rollouts: Sequence[Rollout]) -> None:
        """See `RunCallback.rollouts_finished`."""
        for callback in self._callbacks:
            callback.rollouts_finished(step, phase, rollouts)

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:
        """See `RunCallback.step_finished`."""
        for callback in self._callbacks:
            callback.step_finished(step, metrics, spans)

    def evaluation_finished(
        self, step: int, phase: Phase, metrics: Mapping[str, float], pass_rate: PassRate | None
    ) -> None:
        """See `RunCallback.evaluation_finished`."""
        for callback in self._callbacks:
            callback.evaluation_finished(step, phase, metrics, pass_rate)

    def flush(self) -> None:
        """See `RunCallback.flush`."""
        for callback in self._callbacks:
            callback.flush()

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:
        """See `RunCallback.run_finished`; every callback is told, then the first error is raised."""
        errors = list[Exception]()
        for callback in reversed(self._started):
            try:
                callback.run_finished(status, summary)
            except Exception as error:
                errors.append(error)
        self._started.clear()
        if errors:
            raise errors[0]


class Isolated(RunCallback):
    """A callback whose first error is logged; after it the callback is told no more, and the run goes on."""

    def __init__(self, callback: RunCallback) -> None:
        self._callback = callback
        self._failed = False

    def message(self, text: str) -> None:
        """See `RunCallback.message`."""
        self._guard(lambda: self._callback.message(text))

    def run_started(self, run: RunInfo) -> None:
        """See `RunCallback.run_started`."""
        self._guard(lambda: self._callback.run_started(run))

    def rollouts_finished(self, step: int, phase: Phase, rollouts: Sequence[Rollout]) -> None:
        """See `RunCallback.rollouts_finished`."""
        self._guard(lambda: self._callback.rollouts_finished(step, phase, rollouts))

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:
        """See `RunCallback.step_finished`."""
        self._guard(lambda: self._callback.step_finished(step, metrics, spans))

    def evaluation_finished(
        self, step: int, phase: Phase, metrics: Mapping[str, float], pass_rate: PassRate | None
    ) -> None:
        """See `RunCallback.evaluation_finished`."""
        self._guard(lambda: self._callback.evaluation_finished(step, phase, metrics, pass_rate))

    def flush(self) -> None:
        """See `RunCallback.flush`."""
        self._guard(self._callback.flush)

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:
        """See `RunCallback.run_finished`; a failed callback is told too, to release what it holds."""
        was_failed, self._failed = self._failed, False
        self._guard(lambda: self._callback.run_finished(status, summary), silent=was_failed)

    def _guard(self, call: Callable[[], None], *, silent: bool = False) -> None:
        if self._failed:
            return
        try:
            call()
        except Exception as error:
            self._failed = True
            if not silent:
                _log.warning("%s logs no more of this run, which goes on: %s", self._callback.name, describe(error))
