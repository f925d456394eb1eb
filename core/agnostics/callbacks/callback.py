"""Run callbacks: the one interface through which everything that wants to know of a run is told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from agnostics.profiling.spans import Span
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
    kind: Literal["train", "eval"]
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
        """Held-out tasks were evaluated after `step`; `pass_rate` is None if no program was verified."""

    def flush(self) -> None:
        """Return when everything reported so far is safe; called before a checkpoint is written."""

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:
        """The run has ended; `summary` holds its results, or the error. Every callback whose `run_started` returned
        is told."""


class MetricsLogger(RunCallback, ABC):
    """A callback that only wants metrics, by names that begin with `train/` or `eval/`."""

    @abstractmethod
    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take down the metrics of a step: those of training in one call, those of an evaluation in another."""

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:  # noqa: ARG002
        """See `RunCallback.step_finished`."""
        self.log(step, {f"train/{name}": value for name, value in metrics.items()})

    def evaluation_finished(
        self,
        step: int,
        phase: Phase,  # noqa: ARG002
        metrics: Mapping[str, float],
        pass_rate: PassRate | None,  # noqa: ARG002
    ) -> None:
        """See `RunCallback.evaluation_finished`."""
        self.log(step, {f"eval/{name}": value for name, value in metrics.items()})
