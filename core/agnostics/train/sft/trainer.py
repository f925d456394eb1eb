"""The trainer of supervised fine-tuning: draw documents, pack them, update the model, tell the callbacks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from agnostics.callbacks.callback import RunCallback
from agnostics.models.flop import TrainingFlop
from agnostics.train import checkpoint
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.lr_schedule import learning_rate_at
from agnostics.train.sft.config import SftConfig
from agnostics.train.sft.documents import Document
from agnostics.train.sft.metrics import VALIDATION_LOSS, sft_metrics
from agnostics.train.sft.mixture import Draw, Mixture
from agnostics.train.sft.packing import pack
from agnostics.train.sft.policy import SupervisedPolicy
from agnostics.train.state import TrainerState
from agnostics.util.signals import InterruptHandler


@dataclass
class SupervisedTrainer:
    """Trains a model from `state` to the last step. Without `packing` every document has a row of its own."""

    config: SftConfig
    folder: Path
    policy: SupervisedPolicy
    checkpoints: CheckpointWriter
    mixture: Mixture
    validation: Sequence[Document]
    cost: TrainingFlop
    steps: int
    callbacks: RunCallback
    interrupts: InterruptHandler
    state: TrainerState
    packing: bool = True
    last_loss: float | None = None
    """The loss of the last step of this session."""
    validation_loss: float | None = None
    """The last validation loss of this session."""
    _clock_s: float = field(default_factory=time.monotonic)

    def train(self) -> None:
        """Train to the last step; its checkpoint is then complete. Raises KeyboardInterrupt between two steps."""
        self._clock_s = time.monotonic()
        batches = self.mixture.first_batches(self.steps)
        for step, draws in enumerate(islice(batches, self.state.step, None), start=self.state.step + 1):
            self.policy.process_group.run_on_all(self._allow_interrupt)
            with self.interrupts.deferred(f"step {step}"):
                self._step(step, draws)
            self.checkpoints.check()
            self._save_if_due(step)
        with self.interrupts.deferred("the last checkpoint"):
            self.checkpoints.wait()

    def save_checkpoint(self) -> None:
        """Begin to write a checkpoint of the current state, once everything reported so far is stored."""
        self.callbacks.flush()
        self.advance()
        self.checkpoints.save(self.folder, self.state)

    def advance(self, **changes: Any) -> None:
        """Update the state and its clock."""
        now = time.monotonic()
        self.state = replace(self.state, seconds=self.state.seconds + now - self._clock_s, **changes)
        self._clock_s = now

    def _allow_interrupt(self) -> None:
        """Raise KeyboardInterrupt if this rank was interrupted."""
        with self.interrupts.allowed():
            pass

    def _step(self, step: int, draws: Sequence[Draw]) -> None:
        started_s, settings = time.monotonic(), self.config.train
        rows = self._rows(draws)
        warmup = settings.warmup_ratio * self.steps
        learning_rate = learning_rate_at(step, steps=self.steps, warmup=warmup, peak=settings.learning_rate)
        stats = self.policy.update_on(rows, learning_rate)
        metrics = sft_metrics(stats, draws, rows, self.mixture.sources, self.cost)
        seconds = time.monotonic() - started_s
        times = {"tokens_per_s": metrics["tokens"] / seconds, "step_s": seconds}
        self.callbacks.step_finished(step, {**metrics, "learning_rate": learning_rate, **times}, ())
        self.last_loss = stats.loss
        if self._is_validated_after(step):
            self._validate(step)
        self.advance(step=step)

    def _is_validated_after(self, step: int) -> bool:
        settings = self.config.validation
        if settings is None:
            return False
        return step == self.steps or (settings.eval_interval is not None and step % settings.eval_interval == 0)

    def _validate(self, step: int) -> None:
        """Measure the loss on the validation examples; a checkpoint of this step includes it."""
        loss = self.policy.loss_on(self._rows([(0, document) for document in self.validation]))
        self.callbacks.evaluation_finished(step, "eval_during", {VALIDATION_LOSS: loss}, None)
        self.validation_loss = loss
        self.advance(evaluated_step=step)

    def _rows(self, draws: Sequence[Draw]) -> list[list[Document]]:
        return pack(draws, self.config.train.micro_batch_tokens if self.packing else 1)

    def _save_if_due(self, step: int) -> None:
        is_due = step % self.config.checkpoint_interval == 0 or step == self.steps
        if is_due and not checkpoint.exists(self.folder, step):
            with self.interrupts.deferred(f"the checkpoint of step {step}"):
                self.save_checkpoint()
