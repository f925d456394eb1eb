"""The launcher of ranks on a Ray cluster: a process for each rank, as `torchrun` starts them on one machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Literal

from agnostics.sandbox.ray.connection import connected, what_ray_says
from agnostics.types.errors import AgnosticsError, MissingRequirement

PLACEMENT_TIMEOUT_S = 30
"""How long a large enough cluster may take to place all ranks."""
EXIT_TIMEOUT_S = 120
"""How long ranks may take to end after rank 0."""
_POLL_S = 1.0

Stream = Literal["stdout", "stderr"]
OnLine = Callable[[Stream, str], None]
"""Called with every line that a rank prints: rank 0 on both streams, the others on stderr only."""


def launch(address: str, ranks: int, arguments: Sequence[str], on_line: OnLine) -> int:
    """Run `agn` with `arguments` as `ranks` ranks on the nodes of the cluster at `address`; rank 0's exit status.

    A rank has a GPU if the cluster has any, else a CPU core; ranks are spread over the nodes. Ctrl-C is forwarded to
    all of them. Raises MissingRequirement if the cluster has no room, AgnosticsError if a node is lost.
    """
    with connected(address) as ray, _placed(ray, ranks) as places, ThreadPoolExecutor(ranks) as threads:
        environments = _environments(ray, places)
        following = [
            threads.submit(_follow, ray, place, arguments, environment, on_line)
            for place, environment in zip(places, environments, strict=True)
        ]
        return _first_status(following, places)


class RankProcess:
    """The process of one rank, as a Ray actor on its node."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def node(self) -> tuple[str, str, int, bool]:
        """The node's id and address, a port that is free there, and whether this rank has a GPU."""
        import ray

        with socket.socket() as free:
            free.bind(("", 0))
            port = int(free.getsockname()[1])
        return ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address(), port, bool(ray.get_gpu_ids())

    def run(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[Stream, str] | int]:
        """Run `agn`: the lines that it prints as they come, and its exit status at the end."""
        first = environment["RANK"] == "0"
        command = [sys.executable, "-m", "agnostics", *arguments]
        everything = {**os.environ, **environment}
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as result,
            subprocess.Popen(
                command, env=everything, stdout=result, stderr=subprocess.PIPE, text=True, errors="replace"
            ) as self._process,
        ):
            assert self._process.stderr
            for line in self._process.stderr:
                yield "stderr", line
            status = self._process.wait(timeout=EXIT_TIMEOUT_S)
            result.seek(0)
            for line in result if first else ():
                yield "stdout", line
            yield status

    def signal(self, number: int) -> None:
        """Forward a signal."""
        if self._process:
            self._process.send_signal(number)


@contextmanager
def _placed(ray: Any, ranks: int) -> Iterator[list[Any]]:
    """An actor for each rank, spread over the nodes, until the block ends."""
    from ray.util.placement_group import placement_group, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    resources = ray.cluster_resources()
    needs = {"CPU": 1.0, **({"GPU": 1.0} if resources.get("GPU") else {})}
    if any(resources.get(name, 0) < ranks * need for name, need in needs.items()):
        raise _no_room(ranks, needs)
    group = placement_group([needs] * ranks, strategy="SPREAD")
    try:
        if not group.wait(timeout_seconds=PLACEMENT_TIMEOUT_S):
            raise _no_room(ranks, needs)
        actor = ray.remote(RankProcess)
        yield [
            actor.options(
                num_cpus=1,
                num_gpus=needs.get("GPU", 0),
                max_concurrency=2,
                scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=rank),
            ).remote()
            for rank in range(ranks)
        ]
    finally:
        remove_placement_group(group)  # which ends its actors


def _no_room(ranks: int, needs: Mapping[str, float]) -> MissingRequirement:
    return MissingRequirement(f"the cluster has no room for {ranks} ranks of {needs}; see: ray status")


def _environments(ray: Any, places: Sequence[Any]) -> list[dict[str, str]]:
    """The environment of each rank, by the names that `torchrun` uses."""
    nodes = ray.get([place.node.remote() for place in places], timeout=PLACEMENT_TIMEOUT_S)
    on_node = Counter(node for node, *_ in nodes)
    seen = Counter[str]()
    _, address, port, _ = nodes[0]
    environments = []
    for rank, (node, _, _, has_gpu) in enumerate(nodes):
        environments.append(
            {
                "RANK": str(rank),
                "WORLD_SIZE": str(len(places)),
                # Ray shows each rank only its own GPU, as number 0.
                "LOCAL_RANK": "0" if has_gpu else str(seen[node]),
                "LOCAL_WORLD_SIZE": str(on_node[node]),
                "MASTER_ADDR": address,
                "MASTER_PORT": str(port),
            }
        )
        seen[node] += 1
    return environments


def _follow(ray: Any, place: Any, arguments: Sequence[str], environment: Mapping[str, str], on_line: OnLine) -> int:
    """Forward a rank's output until it ends; its exit status."""
    try:
        for reference in place.run.options(num_returns="streaming").remote(arguments, environment):
            result = ray.get(reference)
            if isinstance(result, int):
                return result
            on_line(*result)
    except ray.exceptions.RayError as error:
        raise AgnosticsError(
            f"rank {environment['RANK']} is lost with its node ({what_ray_says(error)}); continue with --resume RUN"
        ) from error
    raise AgnosticsError(f"rank {environment['RANK']} ended without a status")


def _first_status(following: Sequence[Future[int]], places: Sequence[Any]) -> int:
    """Wait for rank 0, then for the others; an interrupt is forwarded to all of them, once."""
    interrupted = False
    while not following[0].done():
        try:
            wait(following[:1], timeout=_POLL_S)
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            for place in places:
                place.signal.remote(signal.SIGINT)
    wait(following, timeout=EXIT_TIMEOUT_S)
    for place, followed in zip(places, following, strict=True):
        if not followed.done():
            place.signal.remote(signal.SIGKILL)
    return following[0].result()
