"""TensorBoard: event files in the run's folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, ClassVar

from agnostics.callbacks.callback import MetricsLogger, RunInfo, RunStatus
from agnostics.types.errors import MissingRequirement

_VERSION = "brain.Event:2"
"""The first record of an event file."""


class TensorBoardLogger(MetricsLogger):
    """Writes event files into `tensorboard/`, another one each time that the run is resumed."""

    name: ClassVar[str] = "tensorboard"

    def check_requirements(self) -> None:
        """See `RunCallback.check_requirements`."""
        if find_spec("tensorboard") is None:
            raise MissingRequirement("tensorboard is not installed; run: pip install 'agnostics[watch]'")

    def run_started(self, run: RunInfo) -> None:
        """See `RunCallback.run_started`."""
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        if run.folder is None:
            raise ValueError("TensorBoard needs the folder of a run")
        self._run = run
        folder = run.folder / self.name
        missing = {} if folder.exists() else run.history
        folder.mkdir(exist_ok=True)
        self._file = (folder / f"events.out.tfevents.{time.time():.6f}").open("xb")
        self._writer = RecordWriter(self._file)
        self._write(file_version=_VERSION)
        # A reader discards what earlier files hold of this step and later ones.
        self._write(step=run.next_step, session_log=SessionLog(status=SessionLog.START))
        for step, metrics in missing.items():
            self.log(step, metrics)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """See `MetricsLogger.log`."""
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.scalar.summary_v2 import scalar_pb

        describe = self._run.describe_metric
        values = [scalar_pb(name, value, describe(name)).value[0] for name, value in metrics.items()]
        self._write(step=step, summary=Summary(value=values))

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:  # noqa: ARG002
        """See `RunCallback.run_finished`."""
        self._file.close()

    def _write(self, **content: object) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._writer.write(Event(wall_time=time.time(), **content).SerializeToString())
        self._writer.flush()
