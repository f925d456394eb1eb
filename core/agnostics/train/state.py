"""The state of a run: how far it has come, and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agnostics.callbacks.callback import RunStatus
from agnostics.util.statistics import PassRate


@dataclass(frozen=True, slots=True)
class TrainerState:
    """Progress of a run. All seeds follow from the step's number, and so does the order of tasks without a state."""

    step: int = 0
    completions: int = 0
    seconds: float = 0.0
    before: Mapping[str, Any] | None = None
    """The fields of the pass rate before training, once it is evaluated."""
    evaluated_step: int = 0
    """The last step after which validation tasks were evaluated."""
    best_step: int | None = None
    """The step with the best pass rate on validation tasks, `best_pass_at_1`."""
    best_pass_at_1: float = 0.0
    fresh_mismatch: float | None = None
    """The log-probability mismatch of the engine before the trainer sent it any weights, once it is measured."""
    task_sampler: Mapping[str, Any] | None = None
    """The state of the task sampler, if the order of tasks depends on the run's rollouts."""
    queue: list[dict[str, Any]] = field(default_factory=list)
    """The rollouts that wait for an update, as `RolloutQueue.saved` gives them; up to date in checkpoints."""


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """The results of a run. `seconds` is the time of training and evaluation, over all its sessions."""

    run: str
    status: RunStatus
    language: str
    steps: int
    completions: int
    before: PassRate | None
    after: PassRate | None
    checkpoint: Path | None
    store: str
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """The summary as `agn run --json` prints it and the store keeps it."""
        before, after = self.before, self.after
        return {
            "run": self.run,
            "language": self.language,
            "steps": self.steps,
            "completions": self.completions,
            "pass_at_1_before": before and before.pass_at_1,
            "pass_at_1_after": after and after.pass_at_1,
            "interval_before": before and before.interval,
            "interval_after": after and after.interval,
            "checkpoint": self.checkpoint and str(self.checkpoint),
            "store": self.store,
            "seconds": round(self.seconds, 1),
        }
