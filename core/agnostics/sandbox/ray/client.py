"""The calls to Ray: the nodes of the cluster, and the actor with a pool on each."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.protocol import Job
from agnostics.sandbox.ray.connection import connect
from agnostics.sandbox.ray.node import NodePool, NodeResult
from agnostics.types.language import Language

CLOSE_TIMEOUT_S = 60


class RayClient:
    """A connection to the cluster at `address`; raises as `connect`."""

    def __init__(self, address: str) -> None:
        self._ray, self._connected_here = connect(address)

    def nodes(self) -> dict[str, int]:
        """The number of processors of each living node by its id; nodes that offer none are left out."""
        cores = {node["NodeID"]: node["Resources"].get("CPU", 0) for node in self._ray.nodes() if node["Alive"]}
        return {node: max(1, int(count)) for node, count in cores.items() if count}

    def start_pool(self, node: str, backends: Sequence[SandboxBackend], slots: int) -> Any:
        """Start a `NodePool` on a node, and return the handle of its actor."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        options = {
            "num_cpus": 0,
            "max_concurrency": 2 * slots + 8,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False),
        }
        return self._ray.remote(NodePool).options(**options).remote(backends, slots)

    def mode(self, pool: Any) -> Future[str]:
        """The mode of a pool once it has started; an exception if it cannot."""
        future: Future[str] = pool.mode.remote().future()
        return future

    def run(self, pool: Any, language: Language, jobs: list[Job]) -> Future[list[NodeResult]]:
        """Run jobs in a pool."""
        future: Future[list[NodeResult]] = pool.run.remote(language, jobs).future()
        return future

    def close_pool(self, pool: Any) -> None:
        """Close a pool and its slots, then end its actor."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.get(pool.close.remote(), timeout=CLOSE_TIMEOUT_S)
        self.kill_pool(pool)

    def kill_pool(self, pool: Any) -> None:
        """End a pool's actor, and its slots with it, without waiting for its jobs."""
        self._ray.kill(pool)

    def close(self) -> None:
        """Disconnect from the cluster, unless this process was connected before."""
        if self._connected_here:
            self._ray.shutdown()
