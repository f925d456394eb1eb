"""The one writer of a run: takes completions and metrics as they happen and commits them in batches."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from sqlalchemy import Engine

from agnostics.errors import AgnosticsError
from agnostics.store.database import writing
from agnostics.store.records import CompletionRecord
from agnostics.store.writer import BatchWriter

BATCH_ROWS = 500
BATCH_SECONDS = 0.2
QUEUE_ROWS = 4096
STALL_SECONDS = 120.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Step:
    step: int
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Mark:
    """Asks that everything before it be committed; `last` ends the thread."""

    last: bool = False
    done: threading.Event = field(default_factory=threading.Event)


class Recorder:
    """Writes what happens in one run on a thread of its own; use it as a context manager, from any thread.

    A batch is committed after 0.2 s or 500 rows, so a killed process loses at most that; a full queue makes the caller
    wait. What goes wrong on the thread (a full disk) is raised as AgnosticsError by the next call, and by leaving the
    block; what had been committed stays.
    """

    def __init__(self, engine: Engine, run: str) -> None:
        self._engine = engine
        self._writer = BatchWriter(run)
        self._queue: queue.Queue[CompletionRecord | _Step | _Mark] = queue.Queue(QUEUE_ROWS)
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name=f"recorder {run}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._commit(_Mark(last=True))
        except AgnosticsError as failure:
            if error is None:
                raise
            _log.warning("%s", failure)
        finally:
            self._thread.join(timeout=1.0)

    def completion(self, record: CompletionRecord) -> None:
        """Store a completion with its outcome, soon."""
        self._raise_error()
        self._put(record)

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Store the figures of a step, soon; a second call adds to them. An evaluation's begin with its phase."""
        self._raise_error()
        self._put(_Step(step, dict(metrics)))

    def flush(self) -> None:
        """Return when everything given so far is committed."""
        self._commit(_Mark())

    def _commit(self, mark: _Mark) -> None:
        self._put(mark)
        if not mark.done.wait(STALL_SECONDS):
            raise self._stalled()
        self._raise_error()

    def _put(self, item: CompletionRecord | _Step | _Mark) -> None:
        try:
            self._queue.put(item, timeout=STALL_SECONDS)
        except queue.Full:
            raise self._stalled() from None

    def _stalled(self) -> AgnosticsError:
        return AgnosticsError(f"results database {self._engine.url}: no answer for {STALL_SECONDS:.0f} s")

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        last = False
        while not last:
            batch = self._next_batch()
            self._write(batch)
            for item in batch:
                if isinstance(item, _Mark):
                    item.done.set()
                    last = last or item.last

    def _next_batch(self) -> list[CompletionRecord | _Step | _Mark]:
        """What to commit together: up to a mark, a number of rows or a time after the first."""
        batch = [self._queue.get()]
        end = time.monotonic() + BATCH_SECONDS
        while len(batch) < BATCH_ROWS and not isinstance(batch[-1], _Mark):
            try:
                batch.append(self._queue.get(timeout=max(0.0, end - time.monotonic())))
            except queue.Empty:
                break
        return batch

    def _write(self, batch: list[CompletionRecord | _Step | _Mark]) -> None:
        """Commit `batch`; after an error nothing more is written, for what follows would stand on a gap."""
        records = [item for item in batch if isinstance(item, CompletionRecord)]
        metrics = {(s.step, name): value for s in batch if isinstance(s, _Step) for name, value in s.metrics.items()}
        if self._error is not None or not (records or metrics):
            return
        try:
            with writing(self._engine) as connection:
                self._writer.write(connection, records, metrics)
        except Exception as error:
            self._error = error
