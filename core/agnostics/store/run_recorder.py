"""The run recorder: a callback that stores a run's rollouts and metrics in the results database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import groupby
from typing import Any

from agnostics.callbacks.callback import RunCallback, RunInfo, RunStatus
from agnostics.profiling.spans import Span
from agnostics.store.records import CompletionRecord, TurnRecord, VersionSpan
from agnostics.store.store import Store
from agnostics.types.errors import AgnosticsError
from agnostics.types.rollout import Phase, Rollout, Turn
from agnostics.util.statistics import PassRate


class RunRecorder(RunCallback):
    """Records into `store`, through a process of its own if `separate_process`, else on a thread.

    What the database refuses is raised as AgnosticsError by a later call; what was committed stays.
    """

    def __init__(self, store: Store, *, separate_process: bool) -> None:
        self._store, self._separate_process = store, separate_process
        self._resources = ExitStack()

    def run_started(self, run: RunInfo) -> None:
        """See `RunCallback.run_started`."""
        self._run = run.id
        recorder = self._store.out_of_process_recorder if self._separate_process else self._store.recorder
        try:
            self._recorder = self._resources.enter_context(recorder(run.id))
        except BaseException as error:
            self._store.finish_run(run.id, "failed", {"error": str(error)})
            raise

    def rollouts_finished(self, step: int, phase: Phase, rollouts: Sequence[Rollout]) -> None:
        """See `RunCallback.rollouts_finished`."""
        for rollout in rollouts:
            self._recorder.completion(record_of(step, phase, rollout))

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:  # noqa: ARG002
        """See `RunCallback.step_finished`."""
        self._recorder.step(step, metrics)

    def evaluation_finished(
        self,
        step: int,
        phase: Phase,
        metrics: Mapping[str, float],
        pass_rate: PassRate | None,  # noqa: ARG002
    ) -> None:
        """See `RunCallback.evaluation_finished`."""
        self._recorder.step(step, {f"{phase}_{name}": value for name, value in metrics.items()})

    def flush(self) -> None:
        """See `RunCallback.flush`."""
        self._recorder.flush()

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:
        """See `RunCallback.run_finished`; the error of a failed run is the one to report, not one of the database."""
        if status != "failed":
            self._resources.close()
            self._store.finish_run(self._run, status, summary)
            return
        with suppress(Exception):
            error = AgnosticsError(str(summary.get("error")))
            self._resources.__exit__(AgnosticsError, error, None)
            self._store.finish_run(self._run, status, summary)


def record_of(step: int, phase: Phase, rollout: Rollout) -> CompletionRecord:
    """The record of a verified rollout, as the database keeps it."""
    versions = rollout.sampled_versions
    return CompletionRecord(
        step=step,
        phase=phase,
        task=rollout.task,
        sample=rollout.sample,
        text=rollout.text,
        tokens=rollout.num_tokens,
        finish_reason=rollout.finish_reason,
        policy_version=versions[-1] if versions else 0,
        verification=rollout.verified,
        reward=rollout.reward,
        advantage=rollout.advantage,
        turns=() if rollout.is_single_answer else tuple(map(_turn_record, rollout.turns)),
        version_spans=() if _all_equal(versions) else tuple(_version_spans(versions)),
    )


def _turn_record(turn: Turn) -> TurnRecord:
    return TurnRecord(
        text=turn.text,
        tokens=turn.num_tokens,
        finish_reason=turn.finish_reason,
        observation=turn.observation,
        observation_tokens=turn.observation_tokens,
        verdict=turn.verification.verdict.value if turn.verification else None,
        reward=turn.reward,
        tool_calls=turn.tool_calls,
        sampling_ms=turn.sampling_ms,
        environment_ms=turn.environment_ms,
    )


def _all_equal(versions: Sequence[int]) -> bool:
    return not versions or versions.count(versions[0]) == len(versions)


def _version_spans(versions: Sequence[int]) -> Iterator[VersionSpan]:
    first = 0
    for version, tokens in groupby(versions):
        count = sum(1 for _ in tokens)
        yield VersionSpan(first, count, version)
        first += count
