"""Timeout retries: programs that timed out with little processor time run again, alone, before the timeout counts.

A program may wait by its own doing (it sleeps) or by the machine's (others keep its children, or the disk, busy). Only
while no other program runs is the cause certain.
"""

from __future__ import annotations

import signal
import time
from collections import deque

from agnostics.sandbox.protocol import Job, JobResult, RunResult
from agnostics.sandbox.worker import QueuedJob
from agnostics.types.verification import Verdict

LOW_CPU_FRACTION = 0.5
"""A run that used less processor time than this fraction of its limit may have been kept waiting."""
LONG_WALL_FACTOR = 5.0
"""So may a run that used less processor time than its limit, but took this many times its limit."""
DRAIN_TIMEOUT_S = 10.0
"""The time that a retry waits for the pool to be idle before the pool is drained for it."""


class TimeoutRetries:
    """Jobs that wait for their exclusive second run, and the one that has it."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, QueuedJob]] = deque()
        self._running: QueuedJob | None = None

    @property
    def running(self) -> QueuedJob | None:
        """The retry that runs now: no other job may start."""
        return None if self._running is None or self._running.future.done() else self._running

    @property
    def waiting(self) -> list[QueuedJob]:
        """The retries that have not started, oldest first."""
        return [job for _, job in self._waiting]

    @property
    def drain_at(self) -> float:
        """The time from which no other job may start until the oldest retry has run."""
        return self._waiting[0][0] + DRAIN_TIMEOUT_S if self._waiting else float("inf")

    def add(self, job: QueuedJob) -> None:
        """Queue a job for a second run in an idle pool."""
        job.exclusive = True
        self._waiting.append((time.monotonic(), job))

    def start_oldest(self) -> QueuedJob:
        """Make the oldest retry the running one."""
        _, self._running = self._waiting.popleft()
        return self._running


def needs_retry(job: Job, result: JobResult) -> bool:
    """True if a time limit in `result` may be due to the load of the machine."""
    runs = [(run, job.run_s) for run in result.tests]
    if result.compile:
        runs.append((result.compile, job.compile_s))
    return any(_may_have_waited(run, limit_s) for run, limit_s in runs)


def _may_have_waited(run: RunResult, limit_s: float) -> bool:
    cpu, wall = run.cpu_ms / 1000 / limit_s, run.wall_ms / 1000 / limit_s
    timed_out = run.verdict is Verdict.TIME_LIMIT and run.signal != signal.SIGXCPU
    return timed_out and (cpu < LOW_CPU_FRACTION or (cpu < 1 and wall > LONG_WALL_FACTOR))
