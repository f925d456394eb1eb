"""The nodes of a cluster that run programs: found, started, rejected or lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.ray.client import RayClient
from agnostics.sandbox.ray.connection import ray_error_text

log = logging.getLogger("agnostics")

START_TIMEOUT_S = 120
"""The time from the start of a node's pool to its first reply."""
TARGET_BATCH_S = 0.1
"""The time that a batch takes one slot, roughly."""
MAX_BATCH_SIZE = 32


@dataclass(eq=False)
class RunningNode:
    """A node's pool, the number of its slots, and the number of jobs sent to it and not returned."""

    pool: Any
    mode: str
    slots: int
    in_flight: int = 0
    mean_job_s: float = TARGET_BATCH_S

    @property
    def batch_size(self) -> int:
        """The number of jobs in a batch."""
        return max(1, min(MAX_BATCH_SIZE, round(TARGET_BATCH_S / self.mean_job_s)))

    @property
    def capacity(self) -> int:
        """The number of further jobs that it accepts, such that no slot is ever idle."""
        return 2 * max(self.slots, self.batch_size) - self.in_flight


@dataclass(eq=False)
class StartingNode:
    """A node whose pool has not replied yet."""

    pool: Any
    slots: int
    started_at: float = field(default_factory=time.monotonic)


class ClusterNodes:
    """The nodes of a cluster. `call` runs a callback on the thread that calls all methods here."""

    def __init__(
        self,
        client: RayClient,
        backends: Sequence[SandboxBackend],
        slots: int | None,
        call: Callable[[Callable[[], None]], None],
    ) -> None:
        self._client, self._backends, self._slots, self._call = client, backends, slots, call
        self.running: dict[str, RunningNode] = {}
        self.starting: dict[str, StartingNode] = {}
        self.rejected: dict[str, str] = {}
        """The reasons by node id."""
        self.discovered_at = 0.0
        self.empty_since = time.monotonic()
        """The time at which the last running node was lost."""

    def discover(self) -> None:
        """Start pools on new nodes. A node that cannot run programs is reported once and not tried again."""
        self.discovered_at = time.monotonic()
        for node_id, cores in self._client.nodes().items():
            if not any(node_id in known for known in (self.running, self.starting, self.rejected)):
                self._start(node_id, self._slots or cores)
        for node_id, node in list(self.starting.items()):
            if self.discovered_at - node.started_at > START_TIMEOUT_S:
                self._reject(node_id, f"its pool did not answer within {START_TIMEOUT_S} s")

    def remove(self, node: RunningNode, error: BaseException) -> None:
        """Remove a node that died. Safe to call twice."""
        node_id = next((node_id for node_id, known in self.running.items() if known is node), None)
        if node_id is not None:
            del self.running[node_id]
            self.empty_since = time.monotonic()
            log.warning("a node of the cluster is gone, its programs are run elsewhere: %s", ray_error_text(error))

    def close(self) -> None:
        """End the pools."""
        for node in self.running.values():
            self._client.close_pool(node.pool)
        for starting in self.starting.values():
            self._client.kill_pool(starting.pool)

    def _start(self, node_id: str, slots: int) -> None:
        node = StartingNode(self._client.start_pool(node_id, self._backends, slots), slots)
        self.starting[node_id] = node
        mode = self._client.mode(node.pool)
        mode.add_done_callback(lambda done: self._call(lambda: self._started(node_id, done)))

    def _started(self, node_id: str, mode: Future[str]) -> None:
        if node_id not in self.starting:
            return  # it was rejected
        if error := mode.exception():
            self._reject(node_id, ray_error_text(error))
        else:
            node = self.starting.pop(node_id)
            self.running[node_id] = RunningNode(node.pool, mode.result(), node.slots)

    def _reject(self, node_id: str, reason: str) -> None:
        self._client.kill_pool(self.starting.pop(node_id).pool)
        self.rejected[node_id] = reason
        log.warning("a node of the cluster takes no part: %s", reason)
