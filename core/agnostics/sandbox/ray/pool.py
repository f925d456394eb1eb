"""The pool across machines: a pool on each node of a Ray cluster, and one thread here that dispatches the jobs.

Jobs travel in small batches of one language. The jobs of a node that dies run on another.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Self

from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.backpressure import Backpressure
from agnostics.sandbox.protocol import Job, JobResult
from agnostics.sandbox.ray.client import RayClient
from agnostics.sandbox.ray.connection import ray_error_text
from agnostics.sandbox.ray.node import NodeResult
from agnostics.sandbox.ray.nodes import START_TIMEOUT_S, ClusterNodes, RunningNode
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language

MAX_ATTEMPTS = 3
"""The number of nodes that may die with a job before the job fails."""
LATE_NODE_TIMEOUT_S = 15.0
"""The time, at the start, that is given to the other nodes once one has started; those that take longer join later."""
DISCOVERY_INTERVAL_S = 5.0
QUEUE_PER_SLOT = 64


@dataclass(eq=False)
class _ClusterJob:
    language: Language
    job: Job
    future: Future[JobResult] = field(default_factory=Future)
    attempts: int = 0

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()


class ClusterPool:
    """Runs jobs on the nodes of a Ray cluster. A context manager; `close` ends the nodes' pools.

    `address` is Ray's: `auto` for the cluster that this machine is part of, or `ray://HOST:PORT`. Each node uses the
    first of `backends` that works there: they travel by pickle, so a plugin's package must be installed on the nodes.
    Each node runs `slots` programs at once, one per processor by default. Raises MissingRequirement if Ray is not
    installed, the cluster does not answer, or no backend works on any node.
    """

    def __init__(self, address: str, backends: Sequence[SandboxBackend], slots: int | None = None) -> None:
        self._client = RayClient(address)
        self._callbacks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._nodes = ClusterNodes(self._client, backends, slots, self._callbacks.put)
        self._queues: defaultdict[str, deque[_ClusterJob]] = defaultdict(deque)
        self._closed = False
        self._nodes.discover()
        self._await_nodes()
        if not self._nodes.running:
            self._client.close()
            reasons = "; ".join(self._nodes.rejected.values()) or f"none answered within {START_TIMEOUT_S} s"
            raise MissingRequirement(f"no node of the cluster can run programs: {reasons}")
        self._backpressure = Backpressure(QUEUE_PER_SLOT * self.size, always=self.size)
        self._thread = threading.Thread(target=self._run, name="agnostics-cluster", daemon=True)
        self._thread.start()

    @property
    def mode(self) -> str:
        """The names of the backends in use on the nodes."""
        return "ray:" + "+".join(sorted({node.mode for node in self._nodes.running.values()}))

    @property
    def size(self) -> int:
        """The number of programs that run at once."""
        return max(1, sum(node.slots for node in self._nodes.running.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def submit(self, language: Language, job: Job) -> Future[JobResult]:
        """Queue a job; blocks while the queue is full. Raises AgnosticsError once the pool is closed."""
        size = job.size
        while not self._backpressure.acquire(size, timeout_s=1):
            self._raise_if_closed()
        future = self.submit_now(language, job)
        future.add_done_callback(lambda _: self._backpressure.release(size))
        return future

    def submit_now(self, language: Language, job: Job) -> Future[JobResult]:
        """Queue a follow-up of a finished job; never blocks. Raises AgnosticsError once the pool is closed."""
        self._raise_if_closed()
        queued = _ClusterJob(language, job)
        self._callbacks.put(lambda: self._push(queued))
        return queued.future

    def close(self) -> None:
        """End the nodes' pools and fail the unfinished jobs. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._callbacks.put(None)
        self._thread.join(timeout=60)
        self._nodes.close()
        self._client.close()

    def _await_nodes(self) -> None:
        """Wait for the nodes that are starting; once one has started, only briefly for the others."""
        start = time.monotonic()
        while self._nodes.starting:
            timeout_s = LATE_NODE_TIMEOUT_S if self._nodes.running else START_TIMEOUT_S
            remaining_s = start + timeout_s - time.monotonic()
            if remaining_s <= 0:
                return
            self._run_callback(remaining_s)

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise AgnosticsError("the sandbox is closed")

    def _run_callback(self, timeout_s: float) -> None:
        with suppress(Empty):
            callback = self._callbacks.get(timeout=timeout_s)
            if callback:
                callback()

    # All methods below run on the pool's thread.

    def _run(self) -> None:
        while not self._closed:
            self._run_callbacks()
            if time.monotonic() - self._nodes.discovered_at > DISCOVERY_INTERVAL_S:
                self._nodes.discover()
            self._dispatch()
        closed = "the sandbox was closed before this program was verified"
        self._drain_queues(lambda future: future.set_exception(AgnosticsError(closed)))

    def _run_callbacks(self) -> None:
        with suppress(Empty):
            callback = self._callbacks.get(timeout=DISCOVERY_INTERVAL_S)
            while callback:
                callback()
                callback = self._callbacks.get_nowait()

    def _push(self, queued: _ClusterJob, *, first: bool = False) -> None:
        queue = self._queues[queued.language.name]
        queue.appendleft(queued) if first else queue.append(queued)

    def _dispatch(self) -> None:
        """Send the waiting jobs, each batch to the node with the most capacity."""
        nodes = self._nodes.running
        for queue in self._queues.values():
            while queue and (node := max(nodes.values(), key=lambda node: node.capacity, default=None)):
                if node.capacity <= 0:
                    return
                share = -(-len(queue) // (2 * len(nodes)))
                self._send(node, [queue.popleft() for _ in range(min(node.batch_size, share))])
        if not nodes and time.monotonic() - self._nodes.empty_since > START_TIMEOUT_S:
            error = JobResult(error="the last node of the cluster is gone")
            self._drain_queues(lambda future: future.set_result(error))

    def _send(self, node: RunningNode, batch: list[_ClusterJob]) -> None:
        node.in_flight += len(batch)
        language = batch[0].language.model_copy(update={"reference": {}})
        results = self._client.run(node.pool, language, [queued.job for queued in batch])
        results.add_done_callback(lambda done: self._callbacks.put(lambda: self._handle_results(node, batch, done)))

    def _handle_results(self, node: RunningNode, batch: list[_ClusterJob], done: Future[list[NodeResult]]) -> None:
        node.in_flight -= len(batch)
        if error := done.exception():
            self._nodes.remove(node, error)
            self._retry(batch, error)
            return
        for queued, result in zip(batch, done.result(), strict=True):
            if isinstance(result, AgnosticsError):
                queued.future.set_exception(result)
            else:
                node.mean_job_s += (_run_s(result) - node.mean_job_s) / 8
                queued.future.set_result(result)

    def _retry(self, batch: list[_ClusterJob], error: BaseException) -> None:
        """Queue the jobs of a node that died, those first that were sent first."""
        for queued in reversed(batch):
            queued.attempts += 1
            if queued.attempts < MAX_ATTEMPTS:
                self._push(queued, first=True)
            else:
                reason = f"three nodes died: {ray_error_text(error)}"
                queued.future.set_result(JobResult(error=reason, attempts=queued.attempts))

    def _drain_queues(self, finish: Callable[[Future[JobResult]], None]) -> None:
        for queue in self._queues.values():
            while queue:
                finish(queue.popleft().future)


def _run_s(result: JobResult) -> float:
    runs = [*result.tests, *([result.compile] if result.compile else [])]
    return sum(run.wall_ms for run in runs) / 1000
