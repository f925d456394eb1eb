"""Workers: running slots with their jobs in flight."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from agnostics.sandbox.backend import Slot
from agnostics.sandbox.protocol import Job, JobResult, ResultReader, encode, set_data_limit, with_one_test
from agnostics.types.language import Language

WATCHDOG_EXTRA_S = 30.0
_BUSY_MACHINE_FACTOR = 10
"""On a busy machine a run may take this many times its limit, and a second (harness/run.c)."""
HARNESS_MB = 32
_FORK_SERVER_MB = 192
"""The most memory that an interpreter takes to be forked (harness/fork_server.c)."""


@dataclass(frozen=True, slots=True)
class TimedOutRun:
    """A job whose result may be due to the load of the machine; `test` is the first test that timed out."""

    job: QueuedJob
    result: JobResult
    test: int


@dataclass(eq=False)
class QueuedJob:
    """A job from its submission to its result."""

    language: Language
    job: Job
    """The job without its data."""
    future: Future[JobResult] = field(default_factory=Future)
    frame: bytearray = field(default_factory=bytearray)
    """The job as a harness reads it; made of `job` by default."""
    key: str = field(init=False)
    """The slot key: jobs run in slots with the same key only."""
    limits: tuple[int, int] = field(init=False)
    """The slot's memory (MiB, streams included) and number of processes, enough for program and compiler."""
    attempts: int = 0
    exclusive: bool = False
    """True if it must run while no other job does (timeout_retry.py)."""
    timed_out: TimedOutRun | None = None
    """The run, one test of which this job repeats."""

    def __post_init__(self) -> None:
        self.frame = self.frame or encode(self.job)
        self.key = slot_key(self.language)
        self.limits = _slot_limits(self.job, len(self.frame))
        self.job = self.job.without_data()  # which the frame holds
        if not self.future.running():
            self.future.set_running_or_notify_cancel()

    def alone(self) -> QueuedJob:
        """The same job, to run while no other does."""
        return replace(self, exclusive=True, timed_out=None)

    def one_test_alone(self, test: int, result: JobResult) -> QueuedJob:
        """The job with one of its tests, to run while no other does, after a run with `result`."""
        job, frame = replace(self.job, tests=[self.job.tests[test]]), with_one_test(self.frame, test)
        return replace(self, job=job, frame=frame, exclusive=True, timed_out=TimedOutRun(self, result, test))

    @property
    def watchdog_s(self) -> float:
        """The time after which a harness that has not returned the result is taken for dead."""
        return watchdog_s([self.job.run_s] * len(self.job.tests) + ([self.job.compile_s] if self.job.compile else []))


def watchdog_s(limits_s: Iterable[float]) -> float:
    """The time after which a harness that has not answered is taken for dead, from the time limits of its runs."""
    return sum(_BUSY_MACHINE_FACTOR * limit_s + 1 for limit_s in limits_s) + WATCHDOG_EXTRA_S


def data_limit_mb(memory_mb: int, unenforced: tuple[str, ...]) -> int:
    """RLIMIT_DATA for a program if its slot has no memory limit of its own; 0 for none.

    It is twice the limit that the harness then watches, because a failed allocation looks like any other error of the
    program.
    """
    return 2 * memory_mb if "memory" in unenforced else 0


def slot_key(language: Language) -> str:
    """The key of a language's slots; languages with the same key share slots."""
    forks = str(bool(language.fork_server))
    return "\n".join((language.name, forks, language.container.base_image, language.image_instructions()))


def _slot_limits(job: Job, frame_bytes: int) -> tuple[int, int]:
    compiles = job.compile is not None
    streams_mb = (2 * frame_bytes + 2 * job.output_bytes) >> 20
    fork_server_mb = _FORK_SERVER_MB if job.hold_at else 0
    overhead_mb = HARNESS_MB + fork_server_mb + -(-streams_mb // 32) * 32
    memory_mb = max(job.memory_mb, job.compile_mb) if compiles else job.memory_mb
    return memory_mb + overhead_mb, max(job.processes, 64) if compiles else job.processes


MIN_PIPELINE_DEPTH, MAX_PIPELINE_DEPTH = 2, 32
"""Bounds on the jobs in flight: one runs while the next wait in the harness's socket."""
PIPELINE_S = 0.05
"""Short jobs are sent ahead for about this long, so that the pool's thread need not wake for each."""
MAX_JOBS_PER_SLOT = 2000
"""The number of jobs after which a slot is replaced by a new one."""


class Worker:
    """A running slot with its jobs in flight, oldest first; the harness runs the oldest."""

    def __init__(self, key: str, slot: Slot) -> None:
        self.key = key
        self.slot = slot
        self.in_flight: deque[QueuedJob] = deque()
        self.limits: tuple[int, int] | None = None
        self.setting_limits = False
        self.draining = False
        """True once it gets no further job; it is closed when it is idle."""
        self.deadline = float("inf")
        self._jobs_sent = 0
        self._mean_job_s = PIPELINE_S
        self._job_started = 0.0
        self._send_buffer = bytearray()
        self._results = ResultReader()
        slot.connection.setblocking(False)

    @property
    def idle(self) -> bool:
        return not self.in_flight and not self.setting_limits

    @property
    def job_started_s(self) -> float:
        """The time of `time.monotonic` at which the oldest job in flight began to run."""
        return self._job_started

    @property
    def retired(self) -> bool:
        """True once it gets no further job."""
        return self.draining or self._jobs_sent >= MAX_JOBS_PER_SLOT

    @property
    def can_accept(self) -> bool:
        """True if it takes a further job now."""
        return len(self.in_flight) < self.pipeline_depth and not (self.setting_limits or self.retired)

    @property
    def pipeline_depth(self) -> int:
        """The number of jobs that may be in flight."""
        return max(MIN_PIPELINE_DEPTH, min(MAX_PIPELINE_DEPTH, int(PIPELINE_S / self._mean_job_s)))

    @property
    def backlog_s(self) -> float:
        """The expected time of the jobs in flight, without the one that runs."""
        return (len(self.in_flight) - 1) * self._mean_job_s

    @property
    def has_unsent(self) -> bool:
        return bool(self._send_buffer)

    def submit(self, job: QueuedJob) -> None:
        """Send a job to the harness. Raises OSError if the harness is gone."""
        set_data_limit(job.frame, data_limit_mb(job.job.memory_mb, self.slot.unenforced))
        self._send_buffer += job.frame
        self.in_flight.append(job)
        self._jobs_sent += 1
        if len(self.in_flight) == 1:
            self._start_watchdog()
        self.send()

    def send(self) -> None:
        """Send as much as the socket takes. Raises OSError if the harness is gone."""
        while self._send_buffer:
            try:
                sent = self.slot.connection.send(self._send_buffer)
            except BlockingIOError:
                return
            del self._send_buffer[:sent]

    def receive(self) -> Iterable[bytes]:
        """The frames that have arrived. Raises OSError if the harness is gone."""
        try:
            data = self.slot.connection.recv(1 << 18)
        except BlockingIOError:
            return ()
        if not data:
            raise ConnectionResetError("the harness closed its connection")
        return self._results.feed(data)

    def pop_finished(self) -> QueuedJob:
        """Remove the job that a result belongs to, the oldest in flight."""
        job = self.in_flight.popleft()
        self._mean_job_s += (time.monotonic() - self._job_started - self._mean_job_s) / 8
        self._start_watchdog()
        return job

    def _start_watchdog(self) -> None:
        self._job_started = time.monotonic()
        self.deadline = self._job_started + self.in_flight[0].watchdog_s if self.in_flight else float("inf")
