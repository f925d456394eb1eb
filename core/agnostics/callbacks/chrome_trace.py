"""A run's spans as a file that Perfetto and chrome://tracing open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agnostics.callbacks.callback import RunCallback, RunInfo, RunStatus
from agnostics.profiling.chrome_trace import TraceFile
from agnostics.profiling.spans import Span


class ChromeTrace(RunCallback):
    """Writes `trace.json` into the run's folder; a resumed run appends to it."""

    def run_started(self, run: RunInfo) -> None:
        """See `RunCallback.run_started`."""
        if run.folder is None:
            raise ValueError("a trace needs the folder of a run")
        self._file = TraceFile(run.folder / "trace.json")

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:  # noqa: ARG002
        """See `RunCallback.step_finished`."""
        self._file.add(spans)

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:  # noqa: ARG002
        """See `RunCallback.run_finished`."""
        self._file.close()
