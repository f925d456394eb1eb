"""Timeout retries: programs that timed out with little processor time run again, alone, before the timeout counts.

A program may wait by its own doing (it sleeps) or by the machine's (others keep its children, or the disk, busy). If a
processor was idle meanwhile, it was its own; otherwise only a run while no other program runs makes the cause certain.
First the test that timed out runs alone: if it does again, that is the cause, also in the other tests. Else the whole
job runs again.
"""

from __future__ import annotations

import signal
import time
from collections import deque
from dataclasses import replace

from agnostics.sandbox.protocol import Job, JobResult, RunResult
from agnostics.sandbox.worker import QueuedJob, TimedOutRun
from agnostics.types.verification import Verdict

LOW_CPU_FRACTION = 0.5
"""A run that used less processor time than this fraction of its limit may have been kept waiting."""
LONG_WALL_FACTOR = 5.0
"""So may a run that used less processor time than its limit, but took this many times its limit."""
IDLE_CORES = 0.5
"""A program that waited while at least so many processors were idle, in the mean, waited by its own doing."""
DRAIN_TIMEOUT_S = 10.0
"""The time that a retry waits for the pool to be idle before the pool is drained for it."""


class TimeoutRetries:
    """Jobs that wait for their exclusive second run, and the one that has it.

    At most half of the time is theirs: after one, other jobs run for as long as it took.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, QueuedJob]] = deque()
        self._running: QueuedJob | None = None
        self._started_s = self._next_s = 0.0

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
        return max(self._waiting[0][0] + DRAIN_TIMEOUT_S, self._next_s) if self._waiting else float("inf")

    def add(self, job: QueuedJob, result: JobResult) -> None:
        """Queue a job for a second run in an idle pool, after a first one with `result`."""
        self._waiting.append((time.monotonic(), _retry_of(job, result)))

    def start_oldest(self) -> QueuedJob:
        """Make the oldest retry the running one."""
        _, self._running = self._waiting.popleft()
        self._started_s = time.monotonic()
        return self._running

    def end(self, retry: QueuedJob, result: JobResult) -> JobResult | QueuedJob:
        """End the running retry: the result of its job; or the job itself, which is then the running one."""
        first = retry.timed_out
        if first and not _times_out(result):
            self._running = first.job.alone()
            return self._running
        now = time.monotonic()
        self._next_s = now + now - self._started_s
        return _confirmed(first, result) if first else result


def _retry_of(queued: QueuedJob, result: JobResult) -> QueuedJob:
    """The job that repeats the first test that timed out, or the whole job if its compiler did."""
    waited = (place for place, run in enumerate(result.tests) if _may_have_waited(run, queued.job.run_s))
    first = next(waited, None)
    return queued.alone() if first is None else queued.one_test_alone(first, result)


def _times_out(result: JobResult) -> bool:
    return any(run.verdict is Verdict.TIME_LIMIT for run in result.tests)


def _confirmed(first: TimedOutRun, again: JobResult) -> JobResult:
    """The result of the first run, with the run of a test that timed out again in place of its first run."""
    tests = list(first.result.tests)
    tests[first.test] = again.tests[0]
    return replace(first.result, tests=tests)


def needs_retry(job: Job, result: JobResult) -> bool:
    """True if a time limit in `result` may be due to the load of the machine, if that was busy."""
    runs = [(run, job.run_s) for run in result.tests]
    if result.compile:
        runs.append((result.compile, job.compile_s))
    return any(_may_have_waited(run, limit_s) for run, limit_s in runs)


def _may_have_waited(run: RunResult, limit_s: float) -> bool:
    cpu, wall = run.cpu_ms / 1000 / limit_s, run.wall_ms / 1000 / limit_s
    timed_out = run.verdict is Verdict.TIME_LIMIT and run.signal != signal.SIGXCPU
    return timed_out and (cpu < LOW_CPU_FRACTION or (cpu < 1 and wall > LONG_WALL_FACTOR))
