"""The pool: warm slots for the languages of the waiting jobs, and one thread that does the I/O with all of them.

Slots start, change their limits and close on a small executor, so that the thread never waits for a slot. A slot that
dies, stops answering or reports an error of its own is replaced, and its job runs once more in another.
"""

from __future__ import annotations

import atexit
import logging
import os
import selectors
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Self

from agnostics.sandbox.backend import SandboxBackend, Slot
from agnostics.sandbox.backpressure import Backpressure
from agnostics.sandbox.event_loop import EventLoop
from agnostics.sandbox.idle_cores import IdleCores
from agnostics.sandbox.job_queues import JobQueues
from agnostics.sandbox.protocol import Job, JobResult, decode
from agnostics.sandbox.start_retries import StartRetries
from agnostics.sandbox.timeout_retry import IDLE_CORES, TimeoutRetries, needs_retry
from agnostics.sandbox.worker import QueuedJob, Worker
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language

log = logging.getLogger("agnostics")

MAX_ATTEMPTS = 2
"""The number of times a job is started before it fails as an error of the sandbox."""
QUEUE_PER_SLOT = 64
COALESCE_S = 0.01
"""The pause of the pool's thread while every slot has longer work, so that it takes several results at once."""
STARVATION_TIMEOUT_S = 1.0
"""The time that jobs wait without a slot of their language before a slot of another language is replaced."""


def available_cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


class Pool:
    """Runs jobs in slots of one sandbox backend. A context manager; `close` ends everything in it.

    Raises MissingRequirement if the backend does not work here.
    """

    def __init__(self, backend: SandboxBackend, slots: int | None = None) -> None:
        self.mode = backend.name
        self.size = slots or available_cores()
        self._slot_factory = backend.open()
        self._backpressure = Backpressure(QUEUE_PER_SLOT * self.size, always=self.size)
        self._queues = JobQueues()
        self._timeout_retries = TimeoutRetries()
        self._idle_cores = IdleCores()
        self._start_retries = StartRetries()
        self._workers: list[Worker] = []
        self._starting: defaultdict[str, int] = defaultdict(int)
        self._fork_refusals: set[tuple[str, str]] = set()
        self._errors: set[str] = set()
        self._closing = 0
        self._closed = False
        self._lock = threading.Lock()
        self._loop = EventLoop(background_threads=min(self.size, 8))
        self._thread = threading.Thread(target=self._run, name="agnostics-pool", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def submit(self, language: Language, job: Job) -> Future[JobResult]:
        """Queue a job; blocks while the queue is full. Raises AgnosticsError once the pool is closed."""
        queued = QueuedJob(language, job)
        size = job.size
        while not self._backpressure.acquire(size, timeout_s=1):
            self._raise_if_closed()
        queued.future.add_done_callback(lambda _: self._backpressure.release(size))
        self._call(lambda: self._queues.push(queued))
        return queued.future

    def submit_now(self, language: Language, job: Job) -> Future[JobResult]:
        """Queue a follow-up of a finished job; never blocks. Raises AgnosticsError once the pool is closed."""
        queued = QueuedJob(language, job)
        self._call(lambda: self._queues.push(queued))
        return queued.future

    def close(self) -> None:
        """End every slot and fail the unfinished jobs. Safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        atexit.unregister(self.close)
        self._loop.wake()
        self._thread.join(timeout=60)
        self._loop.stop_background()
        self._slot_factory.close()
        self._loop.close()

    def _call(self, callback: Callable[[], None]) -> None:
        with self._lock:
            self._raise_if_closed()
            self._loop.call(callback)

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise AgnosticsError("the sandbox is closed")

    # All methods below run on the pool's thread.

    def _run(self) -> None:
        while not self._closed:
            self._idle_cores.sample()
            if self._can_coalesce():
                time.sleep(COALESCE_S)
            for worker, events in self._loop.select(self._select_timeout_s()):
                self._handle_io(worker, events)
            self._loop.run_callbacks()
            self._fail_unresponsive_workers()
            self._schedule()
        self._shut_down()

    def _can_coalesce(self) -> bool:
        """True if every slot has work for a while: several results are then taken at once."""
        return bool(self._workers) and min(worker.backlog_s for worker in self._workers) >= 2 * COALESCE_S

    def _select_timeout_s(self) -> float:
        now = time.monotonic()
        deadlines = [worker.deadline for worker in self._workers]
        deadlines += self._start_retries.times
        if self._timeout_retries.drain_at > now:  # afterwards the retry waits for results, which wake the thread
            deadlines.append(self._timeout_retries.drain_at)
        starved = [key for key in self._queues.slot_keys if not self._slot_count(key)]
        deadlines += [self._queues.waiting_since(key) + STARVATION_TIMEOUT_S for key in starved]
        return min(max(0.01, min(deadlines, default=now + 60) - now), 60)

    def _handle_io(self, worker: Worker, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                worker.send()
            for frame in worker.receive() if events & selectors.EVENT_READ else ():
                self._handle_result(worker, decode(frame))
        except (OSError, IndexError, ValueError) as error:
            self._worker_failed(worker, str(error))
        else:
            self._update_events(worker)

    def _handle_result(self, worker: Worker, result: JobResult) -> None:
        started_s = worker.job_started_s
        queued = worker.pop_finished()
        queued.attempts += 1
        if result.error is not None:
            worker.draining = True
            self._log_error(result.error)
            self._retry_or_fail(queued, result.error)
            return
        self._start_retries.record_success(worker.key)
        self._log_fork_refusal(queued.language, result.fork_refusal)
        if queued.exclusive:
            ended = self._timeout_retries.end(queued, result)
            if isinstance(ended, QueuedJob):
                self._queues.push(ended, first=True)
                return
            result = ended
        elif needs_retry(queued.job, result) and self._idle_cores.since(started_s) < IDLE_CORES:
            self._timeout_retries.add(queued, result)
            return
        unenforced = worker.slot.unenforced
        queued.future.set_result(replace(result, attempts=queued.attempts, unenforced=unenforced, sandbox=self.mode))

    def _log_fork_refusal(self, language: Language, reason: str) -> None:
        """Log once for each language and reason that its interpreter is executed for each test."""
        if reason and (language.name, reason) not in self._fork_refusals:
            self._fork_refusals.add((language.name, reason))
            log.info("%s: the interpreter is started for each test and not forked: %s", language.name, reason)

    def _log_error(self, error: str) -> None:
        """Log once that slots are replaced for this error: what one of them lacks, each of its jobs would tell."""
        if error not in self._errors:
            self._errors.add(error)
            log.warning("a slot is replaced: %s", error)

    def _retry_or_fail(self, queued: QueuedJob, error: str) -> None:
        if queued.attempts < MAX_ATTEMPTS + 2 * queued.exclusive:
            self._queues.push(queued, first=True)
        else:
            queued.future.set_result(JobResult(error=error, attempts=queued.attempts))

    def _worker_failed(self, worker: Worker, reason: str) -> None:
        """Close a slot and retry the job that ran in it; the jobs behind it had not started."""
        log.warning("a slot is replaced: %s", reason)
        self._close_worker(worker)
        jobs = list(worker.in_flight)
        worker.in_flight.clear()
        for queued in reversed(jobs[1:]):
            self._queues.push(queued, first=True)
        if jobs:
            jobs[0].attempts += 1
            self._retry_or_fail(jobs[0], reason)

    def _close_worker(self, worker: Worker) -> None:
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        self._loop.unwatch(worker)
        self._queues.reset_wait(worker.key)
        self._closing += 1
        self._loop.run_in_background(worker.slot.close, self._slot_closed)

    def _slot_closed(self, _: Any, error: BaseException | None) -> None:
        self._closing -= 1
        if error:
            log.warning("a slot did not close cleanly: %s", error)

    def _fail_unresponsive_workers(self) -> None:
        now = time.monotonic()
        for worker in [w for w in self._workers if w.deadline < now]:
            self._worker_failed(worker, "the harness did not answer in time")

    def _schedule(self) -> None:
        for worker in [w for w in self._workers if w.idle and w.retired]:
            self._close_worker(worker)
        for key in self._schedulable_keys():
            self._dispatch(key)
            if self._queues[key]:
                self._start_slots(key)
        for key in self._queues.drop_empty():
            self._start_retries.cancel(key)

    def _schedulable_keys(self) -> list[str]:
        """The slot keys whose jobs may start now, those without a slot first; during a retry only its own."""
        if retry := self._timeout_retries.running:
            return [retry.key]
        if self._timeout_retries.waiting and (self._timeout_retries.drain_at < time.monotonic() or not self._queues):
            if not all(worker.idle for worker in self._workers):
                return []
            retry = self._timeout_retries.start_oldest()
            self._queues.push(retry, first=True)
            return [retry.key]
        queues = self._queues
        return sorted(queues.slot_keys, key=lambda key: (self._slot_count(key) > 0, queues.waiting_since(key)))

    def _dispatch(self, key: str) -> None:
        """Send waiting jobs to slots; each slot gets one before any gets a second."""
        queue = self._queues[key]
        while queue:
            workers = [w for w in self._workers if w.key == key and w.can_accept]
            worker = min(workers, key=lambda w: len(w.in_flight), default=None)
            if worker is None or (worker.in_flight and len(queue) <= len(worker.in_flight) * self._slot_count(key)):
                return
            if self._timeout_retries.running not in {None, queue[0]}:
                return
            if worker.limits != queue[0].limits:
                if worker.idle:
                    self._set_limits(worker, queue[0].limits)
                    continue
                return
            self._send(worker, queue.popleft())

    def _send(self, worker: Worker, queued: QueuedJob) -> None:
        try:
            worker.submit(queued)
        except OSError as error:
            self._worker_failed(worker, str(error))
        else:
            self._update_events(worker)

    def _update_events(self, worker: Worker) -> None:
        if worker in self._workers:
            self._loop.update(worker)

    def _set_limits(self, worker: Worker, limits: tuple[int, int]) -> None:
        def done(_: Any, error: BaseException | None) -> None:
            worker.setting_limits = False
            worker.limits = limits
            if error:
                self._worker_failed(worker, str(error))
                self._start_failed(worker.key, error)

        worker.setting_limits = True
        self._loop.run_in_background(lambda: worker.slot.set_limits(*limits), done)

    def _slot_count(self, key: str) -> int:
        return sum(w.key == key for w in self._workers) + self._starting[key]

    def _start_slots(self, key: str) -> None:
        """Start slots for waiting jobs, in place of slots of other languages if the pool is full."""
        if not self._start_retries.may_start(key):
            return
        waiting = len(self._queues[key])
        while self._starting[key] < waiting:
            total = len(self._workers) + sum(self._starting.values()) + self._closing
            if total >= self.size:
                self._free_slot_for(key)
                return
            self._start_slot(key, self._queues[key][0].language)

    def _free_slot_for(self, key: str) -> None:
        """Close an idle slot of another language; if jobs have starved for a while, drain a busy one."""
        others = [w for w in self._workers if w.key != key]
        idle = next((w for w in others if w.idle and not self._queues.has_jobs(w.key)), None)
        starved_s = time.monotonic() - self._queues.waiting_since(key)
        starved = starved_s >= STARVATION_TIMEOUT_S and not self._slot_count(key)
        if idle:
            self._close_worker(idle)
        elif starved and others and not any(w.draining for w in self._workers):
            max(others, key=lambda w: self._slot_count(w.key)).draining = True

    def _start_slot(self, key: str, language: Language) -> None:
        def done(slot: Slot | None, error: BaseException | None) -> None:
            self._starting[key] -= 1
            if error or slot is None:
                self._start_failed(key, error)
            else:
                self._add_worker(Worker(key, slot))

        self._starting[key] += 1
        self._loop.run_in_background(lambda: self._slot_factory.start(language), done)

    def _add_worker(self, worker: Worker) -> None:
        self._workers.append(worker)
        self._loop.watch(worker)

    def _start_failed(self, key: str, error: BaseException | None) -> None:
        """Fail the waiting jobs after too many failed starts, or at once if a requirement is missing."""
        too_many = self._start_retries.record_failure(key)
        missing = isinstance(error, MissingRequirement)
        if self._slot_count(key) or not (missing or too_many):
            return
        for queued in self._queues.pop_all(key):
            if missing and error:
                queued.future.set_exception(error)
            else:
                queued.future.set_result(
                    JobResult(error=f"no slot could be started: {error}", attempts=queued.attempts)
                )
        self._start_retries.forget(key)

    def _shut_down(self) -> None:
        """Close all slots, those that were starting too, and fail the unfinished jobs."""
        self._loop.stop_background()
        self._loop.run_callbacks()
        unfinished = [queued for worker in self._workers for queued in worker.in_flight]
        unfinished += [*self._queues.all_jobs(), *self._timeout_retries.waiting]
        for queued in unfinished:
            queued.future.set_exception(AgnosticsError("the sandbox was closed before this program was verified"))
        for worker in self._workers:
            worker.slot.close()
