"""Run callbacks: the one interface through which everything that wants to know of a run is told, and lists of them."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from agnostics.profiling.spans import Span
from agnostics.types.errors import describe_error
from agnostics.types.rollout import Phase, Rollout
from agnostics.util.statistics import PassRate

RunStatus = Literal["finished", "interrupted", "failed"]
"""The status of a run that has ended."""


def _no_description(_: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Description of a run, given to a callback when the run starts."""

    id: str
    kind: Literal["train", "eval", "sft"]
    folder: Path | None = None
    """The run's folder, if it has one. A callback that writes files makes a folder of its own in it."""
    steps: int = 0
    """The number of the last training step."""
    expected_rollouts: int | None = None
    """The number of rollouts that an evaluation has still to verify, if known."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Every setting, without passwords."""
    history: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """The metrics of a resumed run by step, with the names that `MetricsLogger.log` gets, up to where it resumes."""
    describe_metric: Callable[[str], str] = _no_description
    """The description of a metric by its name; empty for an unknown one."""

    @property
    def next_step(self) -> int:
        """The first step without metrics; 0 is the evaluation before training."""
        return max(self.history, default=-1) + 1


class RunCallback:
    """Is told what happens in a run; override the methods you need.

    Registered through `agn_callbacks` and chosen by its `name` in the setting `loggers`. One object serves one run at
    a time. What a registered callback raises is logged once, and it is told no more of that run, which goes on.
    """

    name: ClassVar[str] = ""

    def check_requirements(self) -> None:
        """Raise MissingRequirement if a package is missing; called before the run starts."""

    def message(self, text: str) -> None:
        """A remark on what is being done now."""

    def run_started(self, run: RunInfo) -> None:
        """A run starts or is resumed."""

    def rollouts_finished(self, step: int, phase: Phase, rollouts: Sequence[Rollout]) -> None:
        """Rollouts are verified and, in training, scored: all of a training step's at once, those of `agn eval` as
        they are verified."""

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:
        """A training step is done; `spans` ended while it went on."""

    def evaluation_finished(
        self, step: int, phase: Phase, metrics: Mapping[str, float], pass_rate: PassRate | None
    ) -> None:
        """Validation tasks (`eval_during`) or held-out tasks were evaluated after `step`.

        `pass_rate` is None if no program was verified.
        """

    def flush(self) -> None:
        """Return when everything reported so far is safe; called before a checkpoint is written."""

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:
        """The run has ended; `summary` holds its results, or the error. Every callback whose `run_started` returned
        is told."""


def metric_group(phase: Phase) -> str:
    """The beginning of the names that loggers get for the metrics of an evaluation: one for each set of tasks."""
    return "validation" if phase == "eval_during" else "eval"


class MetricsLogger(RunCallback, ABC):
    """A callback that only wants metrics, by names that begin with `train/`, `validation/` or `eval/`."""

    @abstractmethod
    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take down the metrics of a step: those of training in one call, those of an evaluation in another."""

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:  # noqa: ARG002
        """See `RunCallback.step_finished`."""
        self.log(step, {f"train/{name}": value for name, value in metrics.items()})

    def evaluation_finished(
        self,
        step: int,
        phase: Phase,
        metrics: Mapping[str, float],
        pass_rate: PassRate | None,  # noqa: ARG002
    ) -> None:
        """See `RunCallback.evaluation_finished`."""
        self.log(step, {f"{metric_group(phase)}/{name}": value for name, value in metrics.items()})


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
        errors = list[BaseException]()
        for callback in reversed(self._started):
            try:
                callback.run_finished(status, summary)
            except BaseException as error:  # an interrupt too: the recorder is told last
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
                _log.warning(
                    "%s logs no more of this run, which goes on: %s", self._callback.name, describe_error(error)
                )
