"""Takes what happens in a run, completions and figures, and has it committed in batches."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from sqlalchemy import URL

from agnostics.store.database import shown
from agnostics.store.records import CompletionRecord
from agnostics.store.writer.thread import Batch
from agnostics.types.errors import AgnosticsError

BATCH_ROWS = 2000
BATCH_SECONDS = 0.2
QUEUE_ROWS = 8192
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


_Item = CompletionRecord | _Step | _Mark


class Recorder:
    """Has what happens in one run committed by a thread of its own; use it as a context manager, from any thread.

    What is given is committed 0.2 s later or as fast as the database can, at most 2,000 rows at a time; a killed
    process loses the rest, and a full queue makes the caller wait. What `commit` raises on the thread (a full disk, a
    server that stays away) is raised as AgnosticsError by the next call and by leaving the block; what had been
    committed stays. `url` is the database's, for messages.
    """

    def __init__(self, commit: Callable[[Batch], None], url: URL, run: str) -> None:
        self._commit = commit
        self._url = url
        self._queue: deque[_Item] = deque()
        self._given = threading.Event()
        self._urgent = threading.Event()
        self._room = threading.Condition()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name=f"recorder {run}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._await(_Mark(last=True))
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
        self._await(_Mark())

    def _await(self, mark: _Mark) -> None:
        self._put(mark)
        self._urgent.set()
        if not mark.done.wait(STALL_SECONDS):
            raise self._stalled()
        self._raise_error()

    def _put(self, item: _Item) -> None:
        """Give `item` to the thread, which is not woken for each: the caller has better things to do."""
        if len(self._queue) >= QUEUE_ROWS:
            self._wait_for_room()
        self._queue.append(item)
        if not self._given.is_set():
            self._given.set()

    def _wait_for_room(self) -> None:
        self._urgent.set()
        with self._room:
            if not self._room.wait_for(lambda: len(self._queue) < QUEUE_ROWS, STALL_SECONDS):
                raise self._stalled()

    def _stalled(self) -> AgnosticsError:
        return AgnosticsError(f"results database {shown(self._url)}: no answer for {STALL_SECONDS:.0f} s")

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        last = False
        while not last:
            self._given.wait()
            self._urgent.wait(BATCH_SECONDS)
            self._given.clear()
            self._urgent.clear()
            for batch in self._batches():
                self._write(batch)
                last = self._answered(batch) or last

    def _batches(self) -> Iterator[list[_Item]]:
        """What to commit together, until nothing waits."""
        while self._queue:
            yield [self._queue.popleft() for _ in range(min(BATCH_ROWS, len(self._queue)))]

    def _answered(self, batch: list[_Item]) -> bool:
        """Tell those who wait that `batch` is done; whether it was the last."""
        with self._room:
            self._room.notify_all()
        marks = [item for item in batch if isinstance(item, _Mark)]
        for mark in marks:
            mark.done.set()
        return any(mark.last for mark in marks)

    def _write(self, items: list[_Item]) -> None:
        """Commit `items`; after an error nothing more is written, for what follows would stand on a gap."""
        records = [item for item in items if isinstance(item, CompletionRecord)]
        metrics = {(s.step, name): value for s in items if isinstance(s, _Step) for name, value in s.metrics.items()}
        if self._error is not None or not (records or metrics):
            return
        try:
            self._commit(Batch(records, metrics))
        except Exception as error:
            self._error = error
