"""The hooks of a run: a callback that calls the `agn_run_*` hooks of every plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agnostics.callbacks.callback import RunCallback, RunInfo, RunStatus
from agnostics.plugins.manager import PluginManager
from agnostics.profiling.spans import Span
from agnostics.types.rollout import Phase, Rollout


class PluginHooks(RunCallback):
    """Calls `agn_run_started`, `agn_program_verified`, `agn_step_finished` and `agn_run_finished`."""

    def __init__(self, plugins: PluginManager) -> None:
        self._plugins = plugins

    def run_started(self, run: RunInfo) -> None:
        """See `RunCallback.run_started`."""
        self._run = run.id
        self._plugins.run_started(run.id)

    def rollouts_finished(self, step: int, phase: Phase, rollouts: Sequence[Rollout]) -> None:  # noqa: ARG002
        """See `RunCallback.rollouts_finished`."""
        for rollout in rollouts:
            self._plugins.program_verified(self._run, rollout.verified)

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:  # noqa: ARG002
        """See `RunCallback.step_finished`."""
        self._plugins.step_finished(self._run, metrics)

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:  # noqa: ARG002
        """See `RunCallback.run_finished`."""
        self._plugins.run_finished(self._run)
