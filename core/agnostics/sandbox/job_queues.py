"""The pool's waiting jobs: one queue for each slot key."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Iterable

from agnostics.sandbox.worker import QueuedJob


class JobQueues:
    """Queues by slot key, and the time since which each has waited for a slot. Used by the pool's thread only."""

    def __init__(self) -> None:
        self._queues: defaultdict[str, deque[QueuedJob]] = defaultdict(deque)
        self._waiting_since: dict[str, float] = {}

    def __bool__(self) -> bool:
        return any(self._queues.values())

    def __getitem__(self, key: str) -> deque[QueuedJob]:
        return self._queues[key]

    def has_jobs(self, key: str) -> bool:
        """True if a job waits for a slot with this key."""
        return bool(self._queues.get(key))

    @property
    def slot_keys(self) -> Iterable[str]:
        """The slot keys of all queues."""
        return self._queues

    def push(self, job: QueuedJob, *, first: bool = False) -> None:
        """Append a job to its queue, or put it in front."""
        queue = self._queues[job.key]
        if not queue:
            self._waiting_since[job.key] = time.monotonic()
        queue.appendleft(job) if first else queue.append(job)

    def waiting_since(self, key: str) -> float:
        """The time at which the queue began to wait for a slot."""
        return self._waiting_since[key]

    def reset_wait(self, key: str) -> None:
        """Let the queue's wait for a slot begin now, if there is such a queue."""
        if key in self._waiting_since:
            self._waiting_since[key] = time.monotonic()

    def pop_all(self, key: str) -> Iterable[QueuedJob]:
        """Remove a queue and return its jobs."""
        self._waiting_since.pop(key, None)
        return self._queues.pop(key, ())

    def drop_empty(self) -> list[str]:
        """Remove the queues without jobs and return their keys."""
        empty = [key for key, queue in self._queues.items() if not queue]
        for key in empty:
            self.pop_all(key)
        return empty

    def all_jobs(self) -> list[QueuedJob]:
        """The jobs of all queues."""
        return [job for queue in self._queues.values() for job in queue]
