"""What is written down while a run goes on: the store, the plugins, the checkpoints, and whoever watches."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from agnostics.host import Host
from agnostics.store import CompletionRecord, Recorder
from agnostics.train import checkpoint
from agnostics.train.checkpoint import Progress
from agnostics.train.heldout import Score
from agnostics.train.policy import Policy
from agnostics.train.reckoning import Judged

Phase = Literal["train", "eval_before", "eval_after"]


class Reporter(Protocol):
    """Whoever watches a run."""

    def say(self, text: str) -> None:
        """A remark: what is being done now."""

    def step(self, step: int, steps: int, figures: Mapping[str, float]) -> None:
        """A step is done."""

    def score(self, phase: Phase, score: Score) -> None:
        """The held-out tasks have been tried."""


@dataclass
class Journal:
    """The records of one run. `progress` says how far it has come."""

    run: str
    folder: Path
    host: Host
    recorder: Recorder
    reporter: Reporter
    policy: Policy
    tokenizer: Any
    steps: int
    checkpoint_every: int
    progress: Progress = field(default_factory=Progress)
    last_checkpoint: Path | None = None
    _started: float = field(default_factory=time.monotonic)

    def step_finished(self, step: int, groups: Sequence[Sequence[Judged]], figures: Mapping[str, float]) -> None:
        """Write down a training step, and a checkpoint where one is due."""
        self.record(step, "train", groups)
        self.recorder.step(step, figures)
        self.host.step_finished(self.run, figures)
        self.progress = replace(self.progress, step=step)
        self.reporter.step(step, self.steps, figures)
        if step % self.checkpoint_every == 0 or step == self.steps:
            self.save_checkpoint()

    def record(self, step: int, phase: Phase, groups: Sequence[Sequence[Judged]]) -> None:
        """Write down every attempt with its program, verification and reward."""
        for judged in (judged for group in groups for judged in group):
            self.recorder.completion(_record(step, phase, judged))
            self.host.program_verified(self.run, judged.attempt.verification)
        count = sum(map(len, groups))
        self.progress = replace(self.progress, completions=self.progress.completions + count)

    def save_checkpoint(self) -> None:
        """Write a checkpoint of where the run is, after everything recorded so far is safe in the store."""
        self.recorder.flush()
        now = time.monotonic()
        self.progress = replace(self.progress, seconds=self.progress.seconds + now - self._started)
        self._started = now
        self.last_checkpoint = checkpoint.save(self.folder, self.policy, self.tokenizer, self.progress)


def _record(step: int, phase: Phase, judged: Judged) -> CompletionRecord:
    attempt = judged.attempt
    return CompletionRecord(
        step=step,
        phase=phase,
        task=attempt.task,
        sample=attempt.sample,
        text=attempt.text,
        tokens=len(attempt.answer.token_ids),
        finish_reason=attempt.answer.finish_reason,
        policy_version=attempt.answer.version,
        verification=attempt.verification,
        reward=judged.reward,
        advantage=judged.advantage,
    )
