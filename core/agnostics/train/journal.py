"""What is written down while a run goes on: the store, the plugins, the checkpoints, and whoever watches."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from agnostics.algorithms.scoring import Judged
from agnostics.callbacks.callback import Log
from agnostics.evaluate.metrics import Score, score
from agnostics.plugins.manager import PluginManager
from agnostics.profiling.spans import Span
from agnostics.rollout.collector import Attempt
from agnostics.store import CompletionRecord
from agnostics.train import checkpoint
from agnostics.train.checkpoint import Progress
from agnostics.train.run_recorder import Ledger, Trace
from agnostics.train.trainer import Groups, Trainer

Phase = Literal["train", "eval_before", "eval_during", "eval_after"]
Status = Literal["finished", "interrupted"]


class Reporter(Protocol):
    """Whoever watches a run."""

    def say(self, text: str) -> None:
        """A remark: what is being done now."""

    def step(self, step: int, steps: int, figures: Mapping[str, float]) -> None:
        """A step is done."""

    def score(self, phase: Phase, step: int, score: Score) -> None:
        """The held-out tasks have been tried after `step` steps."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run came to. `seconds` is the time of training and evaluation, over all its sessions."""

    run: str
    status: Status
    language: str
    steps: int
    completions: int
    before: Score | None
    after: Score | None
    checkpoint: Path | None
    store: str
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """What `agn run --json` prints and the store keeps."""
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


@dataclass
class Journal:
    """The records of one run. `progress` says how far it has come."""

    run: str
    folder: Path
    plugins: PluginManager
    recorder: Ledger
    trace: Trace
    log: Log
    reporter: Reporter
    trainer: Trainer
    tokenizer: Any
    store: str
    progress: Progress
    after: Score | None = None
    checkpoint: Path | None = None
    _clock: float = field(default_factory=time.monotonic)

    def step_finished(self, step: int, groups: Groups, figures: Mapping[str, float], spans: Sequence[Span]) -> None:
        """Write down a training step, and what ended while it went on."""
        self._record(step, "train", groups)
        self.trace.add(spans)
        self._note(step, figures)
        self.plugins.step_finished(self.run, figures)
        self._advance(step=step)
        self.reporter.step(step, self.trainer.steps, figures)

    def measurement_is_due(self, step: int) -> bool:
        """Whether the held-out tasks are to be tried after `step`; after the last they are in any case."""
        every = self.trainer.config.evaluation.eval_interval
        return every > 0 and step % every == 0 and step < self.trainer.steps and self.progress.measured != step

    def save_checkpoint_if_due(self, step: int) -> None:
        """Write the checkpoint of `step`, unless it is not due or is there."""
        due = step % self.trainer.config.checkpoint_interval == 0 or step in {
            self.trainer.steps,
            self.progress.best_step,
        }
        if due and not checkpoint.is_there(self.folder, step):
            with self.trainer.interrupts.deferred():
                self.save_checkpoint()

    def evaluated(self, phase: Phase, groups: Sequence[Sequence[Attempt]]) -> None:
        """Write down the attempts at held-out tasks and what they came to."""
        found = score(groups, self.trainer.config.seed)
        with self.trainer.interrupts.deferred():
            self._record(self.progress.step, phase, [[Judged(attempt) for attempt in group] for group in groups])
            self._note(self.progress.step, _figures(phase, groups, found))
            if phase == "eval_before":
                self._advance(before=found and asdict(found))
            elif found and found.pass_at_1 > self.progress.best_pass_at_1:
                self._advance(best_step=self.progress.step, best_pass_at_1=found.pass_at_1)
            self._advance(measured=self.progress.step)
            self.after = found if phase == "eval_after" else None
        if phase == "eval_after" and self.trainer.workshop.ranks.first:
            checkpoint.point_to_best(self.folder, self.progress)
        if found:
            self.reporter.score(phase, self.progress.step, found)

    def save_checkpoint(self) -> None:
        """Write a checkpoint of where the run is, when everything recorded so far is safe in the store."""
        self.recorder.flush()
        self._advance()
        policy, keep = self.trainer.teacher.policy, self.trainer.config.keep_checkpoints
        self.checkpoint = checkpoint.save(self.folder, policy, self.tokenizer, self.progress, keep)

    def summary(self, status: Status) -> Summary:
        """What the run has come to."""
        self._advance()
        progress = self.progress
        before = Score(**progress.before) if progress.before else None
        return Summary(
            run=self.run,
            status=status,
            language=self.trainer.workshop.language.name,
            steps=progress.step,
            completions=progress.completions,
            before=before,
            after=self.after,
            checkpoint=self.checkpoint,
            store=self.store,
            seconds=progress.seconds,
        )

    def _record(self, step: int, phase: Phase, groups: Groups) -> None:
        """Write down every attempt with its program, verification and reward."""
        for judged in (judged for group in groups for judged in group):
            self.recorder.completion(_completion(step, phase, judged))
            self.plugins.program_verified(self.run, judged.attempt.verification)
        self._advance(completions=self.progress.completions + sum(map(len, groups)))

    def _note(self, step: int, figures: Mapping[str, float]) -> None:
        """Write down figures, in the store and wherever else the run is watched."""
        self.recorder.step(step, figures)
        self.log(step, figures)

    def _advance(self, **changes: Any) -> None:
        now = time.monotonic()
        self.progress = replace(self.progress, seconds=self.progress.seconds + now - self._clock, **changes)
        self._clock = now


def _figures(phase: Phase, groups: Sequence[Sequence[Attempt]], found: Score | None) -> dict[str, float]:
    figures: dict[str, float] = {"completions": sum(map(len, groups))}
    if found:
        low, high = found.interval
        figures |= {"pass_at_1": found.pass_at_1, "pass_at_1_low": low, "pass_at_1_high": high}
    return {f"{phase}_{name}": value for name, value in figures.items()}


def _completion(step: int, phase: Phase, judged: Judged) -> CompletionRecord:
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
