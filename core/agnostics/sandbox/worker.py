"""The pool's view of one slot: the jobs in flight, the bytes to send and received, and the deadline of its harness."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable

from agnostics.sandbox.backend import Slot
from agnostics.sandbox.protocol import set_data_limit, split_frames
from agnostics.sandbox.queued_job import QueuedJob

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
        self._receive_buffer = bytearray()
        slot.connection.setblocking(False)

    @property
    def idle(self) -> bool:
        return not self.in_flight and not self.setting_limits

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
        set_data_limit(job.frame, job.data_limit_mb(self.slot.unenforced))
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
        self._receive_buffer += data
        return list(split_frames(self._receive_buffer))

    def pop_finished(self) -> QueuedJob:
        """Remove the job that a result belongs to, the oldest in flight."""
        job = self.in_flight.popleft()
        self._mean_job_s += (time.monotonic() - self._job_started - self._mean_job_s) / 8
        self._start_watchdog()
        return job

    def _start_watchdog(self) -> None:
        self._job_started = time.monotonic()
        self.deadline = self._job_started + self.in_flight[0].watchdog_s if self.in_flight else float("inf")
