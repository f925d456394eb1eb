"""Progress on stderr: a callback for training runs, and one for evaluations."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from agnostics.callbacks.callback import RunCallback, RunInfo
from agnostics.cli.output import console
from agnostics.profiling.spans import Span
from agnostics.types.rollout import Phase, Rollout
from agnostics.types.verification import Verdict
from agnostics.util.statistics import PassRate
from agnostics.util.text import plural

_LINE_INTERVAL_S = 10.0
_EVALUATED: dict[Phase, tuple[str, str]] = {
    "eval_before": ("held-out", "before training"),
    "eval_after": ("held-out", "after training"),
}


class ConsoleProgress(RunCallback):
    """Prints messages, and shows a bar if stderr is a terminal."""

    def __init__(self, bar: Progress | None) -> None:
        self._bar = bar
        self._task: TaskID | None = None

    def message(self, text: str) -> None:
        """See `RunCallback.message`."""
        console.print(text, markup=False, soft_wrap=True)

    def run_started(self, run: RunInfo) -> None:
        """See `RunCallback.run_started`."""
        self._run = run


class TrainingProgress(ConsoleProgress):
    """Prints a line for each step and each evaluation."""

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:  # noqa: ARG002
        """See `RunCallback.step_finished`."""
        self.message(f"step {step}/{self._run.steps}  {self._step_line(metrics)}")
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("training", total=self._run.steps)
            self._bar.update(self._task, completed=step)

    def evaluation_finished(
        self,
        step: int,
        phase: Phase,
        metrics: Mapping[str, float],  # noqa: ARG002
        pass_rate: PassRate | None,
    ) -> None:
        """See `RunCallback.evaluation_finished`."""
        if pass_rate is None:
            return
        tasks, when = _EVALUATED.get(phase, ("validation", f"after step {step}"))
        self.message(f"{tasks} pass@1 {when}: {describe_pass_rate(pass_rate)} on {pass_rate.tasks} tasks")

    def _step_line(self, metrics: Mapping[str, float]) -> str:
        """A step in some 110 columns."""
        return (
            f"pass {metrics['pass_rate']:.2f}  reward {metrics['reward_mean']:.2f}  "
            f"{metrics['tokens_mean']:.0f} tokens  "
            f"{metrics['zero_variance_groups']:.0f}/{metrics['groups']:.0f} groups without signal  "
            f"entropy {metrics['entropy']:.2f}  {_mismatch(metrics)}{_speed(metrics)}{metrics['step_s']:.1f} s"
        )


class SftProgress(TrainingProgress):
    """Prints a line for each step of supervised fine-tuning, and for each validation."""

    def evaluation_finished(
        self,
        step: int,
        phase: Phase,  # noqa: ARG002
        metrics: Mapping[str, float],
        pass_rate: PassRate | None,  # noqa: ARG002
    ) -> None:
        """See `RunCallback.evaluation_finished`."""
        self.message(f"validation loss after step {step}: {metrics['loss']:.3f}")

    def _step_line(self, metrics: Mapping[str, float]) -> str:
        return (
            f"loss {metrics['loss']:.3f}  gradient {metrics['grad_norm']:.2f}  {metrics['documents']:.0f} documents  "
            f"{metrics['tokens']:.0f} tokens  {_speed(metrics)}{metrics['step_s']:.1f} s"
        )


class EvaluationProgress(ConsoleProgress):
    """Shows how many programs are verified and how many of them accepted: a bar, or a line now and then."""

    def __init__(self, bar: Progress | None) -> None:
        super().__init__(bar)
        self._accepted = self._programs = 0
        self._last_line_s = time.monotonic()

    def rollouts_finished(self, step: int, phase: Phase, rollouts: Sequence[Rollout]) -> None:  # noqa: ARG002
        """See `RunCallback.rollouts_finished`."""
        if phase != "eval":
            return
        self._programs += len(rollouts)
        self._accepted += sum(rollout.verified.verdict is Verdict.ACCEPTED for rollout in rollouts)
        if self._bar is not None:
            self._update_bar(self._bar)
        elif time.monotonic() >= self._last_line_s + _LINE_INTERVAL_S:
            self._last_line_s = time.monotonic()
            total = self._run.expected_rollouts
            programs = f"{self._programs} of {plural(total, 'program')}" if total else plural(self._programs, "program")
            self.message(f"{programs}, {self._accepted / self._programs:.2f} accepted")

    def _update_bar(self, bar: Progress) -> None:
        if self._task is None:
            self._task = bar.add_task("verified", total=self._run.expected_rollouts)
        description = f"accepted {self._accepted / self._programs:.2f}"
        bar.update(self._task, completed=self._programs, description=description)


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A progress bar; None if stderr is not a terminal."""
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield bar


def describe_pass_rate(rate: PassRate) -> str:
    """pass@1 and its interval in words."""
    low, high = rate.interval
    return f"{rate.pass_at_1:.3f} (95 %: {low:.3f} to {high:.3f})"


def _mismatch(metrics: Mapping[str, float]) -> str:
    return f"mismatch {metrics['logprob_mismatch']:.0e}  " if "logprob_mismatch" in metrics else ""


def _speed(metrics: Mapping[str, float]) -> str:
    return f"{metrics['tokens_per_s']:.0f} tokens/s  " if "tokens_per_s" in metrics else ""
