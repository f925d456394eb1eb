"""Asynchronous recording of a run's completions and metrics, in batches."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from sqlalchemy import URL

from agnostics.store.database import display_url
from agnostics.store.records import CompletionRecord
from agnostics.store.writer.batch import Batch
from agnostics.types.errors import AgnosticsError

BATCH_ROWS = 2000
BATCH_SECONDS = 0.2
QUEUE_ROWS = 8192
STALL_SECONDS = 120.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _StepMetrics:
    step: int
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Flush:
    """Flush marker: `done` is set when everything before it is committed; `last` ends the thread."""

    last: bool = False
    done: threading.Event = field(default_factory=threading.Event)


_Item = CompletionRecord | _StepMetrics | _Flush


class Recorder:
    """Records one run on a background thread; a context manager. Safe to use from any thread.

    Records are committed after 0.2 s or as fast as the database can, at most 2,000 rows at a time; a killed process
    loses the uncommitted ones, and callers block while the queue is full. An error of `commit` on the thread (a full
    disk, an unreachable server) is raised as AgnosticsError by the next call and at the end of the block; committed
    batches stay. `url` is the database's, for messages.
    """

    def __init__(self, commit: Callable[[Batch], None], url: URL, run: str) -> None:
        self._commit = commit
        self._url = url
        self._queue: deque[_Item] = deque()
        self._pending = threading.Event()
        self._urgent = threading.Event()
        self._space = threading.Condition()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name=f"recorder {run}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._await(_Flush(last=True))
        except AgnosticsError as failure:
            if error is None:
                raise
            _log.warning("%s", failure)
        finally:
            self._thread.join(timeout=1.0)

    def completion(self, record: CompletionRecord) -> None:
        """Queue a completion with its verification."""
        self._raise_error()
        self._put(record)

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Queue the metrics of a step; a second call adds to them. Names of evaluation metrics begin with the phase."""
        self._raise_error()
        self._put(_StepMetrics(step, dict(metrics)))

    def flush(self) -> None:
        """Block until everything queued so far is committed."""
        self._await(_Flush())

    def _await(self, flush: _Flush) -> None:
        self._put(flush)
        self._urgent.set()
        if not flush.done.wait(STALL_SECONDS):
            raise self._stalled()
        self._raise_error()

    def _put(self, item: _Item) -> None:
        """Queue `item`. The thread is not woken for every item, which would cost the caller time."""
        if len(self._queue) >= QUEUE_ROWS:
            self._wait_for_space()
        self._queue.append(item)
        if not self._pending.is_set():
            self._pending.set()

    def _wait_for_space(self) -> None:
        self._urgent.set()
        with self._space:
            if not self._space.wait_for(lambda: len(self._queue) < QUEUE_ROWS, STALL_SECONDS):
                raise self._stalled()

    def _stalled(self) -> AgnosticsError:
        return AgnosticsError(f"results database {display_url(self._url)}: no response for {STALL_SECONDS:.0f} s")

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        last = False
        while not last:
            self._pending.wait()
            self._urgent.wait(BATCH_SECONDS)
            self._pending.clear()
            self._urgent.clear()
            for batch in self._batches():
                self._write(batch)
                last = self._acknowledge(batch) or last

    def _batches(self) -> Iterator[list[_Item]]:
        """The queued items in batches, until the queue is empty."""
        while self._queue:
            yield [self._queue.popleft() for _ in range(min(BATCH_ROWS, len(self._queue)))]

    def _acknowledge(self, batch: list[_Item]) -> bool:
        """Wake the callers that wait for `batch`. Returns whether it was the last."""
        with self._space:
            self._space.notify_all()
        flushes = [item for item in batch if isinstance(item, _Flush)]
        for flush in flushes:
            flush.done.set()
        return any(flush.last for flush in flushes)

    def _write(self, items: list[_Item]) -> None:
        """Commit `items`. After an error nothing more is written: later rows would follow a gap."""
        records = [item for item in items if isinstance(item, CompletionRecord)]
        metrics = {
            (s.step, name): value for s in items if isinstance(s, _StepMetrics) for name, value in s.metrics.items()
        }
        if self._error is not None or not (records or metrics):
            return
        try:
            self._commit(Batch(records, metrics))
        except Exception as error:
            self._error = error
