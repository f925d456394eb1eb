"""The trainer: collect rollouts, score them, update the policy, load the weights, tell the callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agnostics.algorithms.algorithm import Algorithm
from agnostics.callbacks.callback import RunCallback
from agnostics.inference.engine import SamplingParams
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.engine_loop import EngineLoop
from agnostics.rollout.pass_rate import pass_rate
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.schedule import RolloutSchedule
from agnostics.train import checkpoint
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.config import RunConfig
from agnostics.train.cpu_threads import shared_cpu_threads
from agnostics.train.learner import Learner
from agnostics.train.logprob_mismatch import check_logprob_mismatch, needs_probe
from agnostics.train.lr_schedule import learning_rate_at
from agnostics.train.metrics import episode_metrics, rollout_metrics, time_metrics, update_metrics
from agnostics.train.state import TrainerState
from agnostics.types.rollout import Phase, RolloutBatch
from agnostics.util.heap import trim_heap
from agnostics.util.signals import InterruptHandler
from agnostics.util.statistics import PassRate


@dataclass
class Trainer:
    """Trains a policy from `state` to the last step."""

    config: RunConfig
    folder: Path
    rollouts: RolloutSchedule
    algorithm: Algorithm
    learner: Learner
    checkpoints: CheckpointWriter
    engine: EngineLoop
    validation: Sequence[RenderedPrompt]
    held_out: Sequence[RenderedPrompt]
    callbacks: RunCallback
    interrupts: InterruptHandler
    state: TrainerState
    last_pass_rate: PassRate | None = None
    """The pass rate after training."""
    _clock_s: float = field(default_factory=time.monotonic)

    def train(self) -> None:
        """Evaluate, train, evaluate again; the last checkpoint is then complete.

        Raises KeyboardInterrupt between two steps.
        """
        self._clock_s = time.monotonic()
        if self.held_out and self.state.before is None:
            self._evaluate("eval_before")
        if self.state.step:
            self._after_step()  # an interrupt may have cut it short
        elif self.validation:
            self._evaluate("eval_during")
        self.spans.close_window()
        for step in range(self.state.step + 1, self.rollouts.steps + 1):
            self._step(step)
            self._after_step()
        if self.held_out:
            self._evaluate("eval_after")
        with self.interrupts.deferred("the last checkpoint"):
            self.checkpoints.wait()

    def save_checkpoint(self) -> None:
        """Begin to write a checkpoint of the current state, once everything reported so far is stored."""
        self.callbacks.flush()
        journal, written = self.rollouts.collector.episodes.journal, self.checkpoints.last
        if journal and written:
            journal.forget(checkpoint.step_of(written))
        self.advance(queue=self.learner.queue.saved())
        self.checkpoints.save(self.folder, self.state)

    def advance(self, **changes: Any) -> None:
        """Update the state and its clock."""
        now = time.monotonic()
        self.state = replace(self.state, seconds=self.state.seconds + now - self._clock_s, **changes)
        self._clock_s = now

    @property
    def spans(self) -> SpanRecorder:
        """The recorder of the run's spans."""
        return self.rollouts.collector.verifier.spans

    def _step(self, step: int) -> None:
        started_s = time.monotonic()
        batch = self.rollouts.collect(step, self.learner.queue.tokens)
        scored = self.algorithm.score(batch, self.rollouts.scoring.at(step))
        with self.interrupts.deferred(f"step {step}"):
            metrics = self._update(step, scored)
            metrics |= self._load_weights(int(metrics["updates"]))
            self._tell(step, scored, metrics, started_s)

    def _update(self, step: int, batch: RolloutBatch) -> dict[str, float]:
        """Update the policy and check that the engine sampled from it; the metrics of both."""
        settings, policy = self.config.train, self.learner.policy
        learning_rate = self._learning_rate(step)
        version = policy.version
        probe = policy.logprob_mismatch(self.rollouts.probe(step)) if needs_probe(step, batch, version) else None
        started_s = time.monotonic()
        if self.config.rollout.sleep_mode:
            self.engine.sleep()
        with self._cpu_threads() as reclaim, self.spans.during("training", f"update {step}"):
            report = self.learner.update(
                batch,
                self.algorithm,
                updates=settings.updates_per_batch,
                learning_rate=learning_rate,
                before_micro_batch=reclaim,
            )
        trim_heap()
        self.rollouts.steps_ahead.observe(report.added_tokens)
        mismatch = probe if report.logprob_mismatch is None else report.logprob_mismatch
        if version == 0 and self.state.fresh_mismatch is None:
            self.advance(fresh_mismatch=mismatch)
        check_logprob_mismatch(mismatch, self.state.fresh_mismatch, settings.logprob_mismatch_bound)
        state = {"learning_rate": learning_rate, "policy_version": float(policy.version)}
        measured = {} if mismatch is None else {"logprob_mismatch": mismatch}
        return {**state, **measured, **update_metrics(report), "update_s": time.monotonic() - started_s}

    def load_policy(self) -> None:
        """Load the policy into the engine: its weights, or its adapter if the engine serves that."""
        policy = self.learner.policy
        weights = policy.adapter() if self.config.rollout.serve_adapter else policy.weights()
        self.engine.load_weights(weights, policy.version)

    def _load_weights(self, updates: int) -> dict[str, float]:
        """Load the policy's weights into the engine, if there was an update."""
        started_s, policy = time.monotonic(), self.learner.policy
        if updates:
            with self.spans.during("training", f"weights {policy.version}"):
                self.load_policy()
        self.engine.wake_up()
        return {"weight_sync_s": time.monotonic() - started_s}

    def _tell(self, step: int, batch: RolloutBatch, metrics: dict[str, float], started_s: float) -> None:
        """Tell the callbacks that the step is done."""
        spans, utilisation = self.spans.close_window()
        sampled = rollout_metrics(batch)
        times = time_metrics(time.monotonic() - started_s, utilisation, sampled["tokens"])
        self.callbacks.rollouts_finished(step, "train", batch.rollouts)
        self.callbacks.step_finished(step, {**sampled, **metrics, **times}, spans)
        sampler = self.rollouts.task_sampler.state(step)
        self.advance(step=step, completions=self.state.completions + len(batch.rollouts), task_sampler=sampler)

    def _after_step(self) -> None:
        """Evaluate on validation tasks and begin to write a checkpoint, if they are due.

        Raises AgnosticsError if the last checkpoint could not be written.
        """
        self.checkpoints.check()
        step, is_last = self.state.step, self.state.step >= self.rollouts.steps
        if self.validation and self.state.evaluated_step != step and (is_last or self._is_validated_after(step)):
            self._evaluate("eval_during")
        is_due = step % self.config.checkpoint_interval == 0 or is_last or step == self.state.best_step
        if is_due and not checkpoint.exists(self.folder, step):
            with self.interrupts.deferred(f"the checkpoint of step {step}"):
                self.save_checkpoint()

    def _is_validated_after(self, step: int) -> bool:
        return step % self.config.evaluation.eval_interval == 0

    def _evaluate(self, phase: Phase) -> None:
        """Evaluate the policy on held-out tasks, or during training on validation tasks, with the same seeds always."""
        settings, prompts = self.config.evaluation, self.validation if phase == "eval_during" else self.held_out
        params = SamplingParams(settings.temperature, self.config.rollout.max_completion_tokens)
        seed = f"{self.config.seed}/evaluation"
        batch = self.rollouts.collector.collect(prompts, settings.samples, params, seed)
        rate = pass_rate(batch.groups, self.config.seed)
        with self.interrupts.deferred("the evaluation"):
            self.callbacks.rollouts_finished(self.state.step, phase, batch.rollouts)
            self.callbacks.evaluation_finished(self.state.step, phase, _eval_metrics(batch, rate), rate)
            self._remember(phase, batch, rate)

    def _remember(self, phase: Phase, batch: RolloutBatch, rate: PassRate | None) -> None:
        """Keep the result of an evaluation; validation tasks alone choose the best step."""
        self.advance(completions=self.state.completions + len(batch.rollouts))
        if phase == "eval_before":
            self.advance(before=rate and asdict(rate))
        elif phase == "eval_after":
            self.last_pass_rate = rate
        else:
            self.advance(evaluated_step=self.state.step)
            if self.state.step and rate and rate.pass_at_1 > self.state.best_pass_at_1:
                self._remember_best(rate)

    def _remember_best(self, rate: PassRate) -> None:
        """Keep the best step; its checkpoint may be there, if an interrupt cut the evaluation short."""
        self.advance(best_step=self.state.step, best_pass_at_1=rate.pass_at_1)
        if self.learner.policy.process_group.is_main:
            checkpoint.link_best(self.folder, self.state)

    def _learning_rate(self, step: int) -> float:
        settings = self.config.train
        warmup = settings.warmup_epochs * self.rollouts.task_sampler.steps_per_epoch
        return learning_rate_at(step, steps=self.rollouts.steps, warmup=warmup, peak=settings.learning_rate)

    @contextmanager
    def _cpu_threads(self) -> Iterator[Callable[[], None]]:
        """Divide the CPU threads between sampling and training while both go on."""
        shared = shared_cpu_threads(self.engine) if self.algorithm.max_off_policy_steps else nullcontext(lambda: None)
        with shared as reclaim:
            yield reclaim


def _eval_metrics(batch: RolloutBatch, rate: PassRate | None) -> dict[str, float]:
    metrics: dict[str, float] = {"completions": len(batch.rollouts), **episode_metrics(batch.rollouts)}
    if rate:
        low, high = rate.interval
        metrics |= {"pass_at_1": rate.pass_at_1, "pass_at_1_low": low, "pass_at_1_high": high}
    return metrics
