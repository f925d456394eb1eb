"""TensorBoard: event files in the run's folder."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from agnostics.callbacks.callback import Log, WatchedRun
from agnostics.types.errors import MissingRequirement

_VERSION = "brain.Event:2"
"""What an event file begins with."""


class TensorBoard:
    """Writes event files into `tensorboard/`, one more each time that the run is resumed."""

    name = "tensorboard"

    def require(self) -> None:
        """See `Watcher.require`."""
        if find_spec("tensorboard") is None:
            raise MissingRequirement("tensorboard is not installed; run: pip install 'agnostics[watch]'")

    @contextmanager
    def watch(self, run: WatchedRun) -> Iterator[Log]:
        """See `Watcher.watch`."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.scalar.summary_v2 import scalar_pb
        from tensorboard.summary.writer.record_writer import RecordWriter

        folder = run.folder / self.name
        missed = {} if folder.exists() else run.history
        folder.mkdir(exist_ok=True)
        with (folder / f"events.out.tfevents.{time.time():.6f}").open("xb") as file:
            writer = RecordWriter(file)

            def write(**content: object) -> None:
                writer.write(Event(wall_time=time.time(), **content).SerializeToString())
                writer.flush()

            def log(step: int, figures: Mapping[str, float]) -> None:
                values = [scalar_pb(name, value, run.meaning(name)).value[0] for name, value in figures.items()]
                write(step=step, summary=Summary(value=values))

            write(file_version=_VERSION)
            # A reader forgets what earlier files hold of this step and later ones.
            write(step=run.next_step, session_log=SessionLog(status=SessionLog.START))
            for step, figures in missed.items():
                log(step, figures)
            yield log
