"""Speed of several nodes of a cluster relative to one, on this machine, and what a node that dies or joins changes.

python benchmarks/cluster.py [--nodes 2] [--cores 1] [--language lua] [--rounds 3]

Each node has one slot and `--cores` processors: as root on Linux with the cpu controller, a fraction is a quota of its
control group.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

from agnostics.plugins.manager import load_plugins
from agnostics.verify import Verifier
from agnostics_benchmarks.workload import Workload, make_workload
from ray.cluster_utils import Cluster

WARM = 50
BATCH_S = 10.0
CPU = next(folder for folder in map(Path, ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")) if folder.is_dir())
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}


class Nodes:
    """A cluster of nodes with `cores` processors each; its head, which has no slot, is not limited."""

    def __init__(self, cores: float) -> None:
        self._cores = cores
        self._cluster = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0})
        self._made = 0
        os.environ["RAY_ADDRESS"] = self._cluster.address

    def add(self) -> None:
        """Let one more node join."""
        self._made += 1
        with cpu_quota(f"cluster-{os.getpid()}-{self._made}", self._cores):
            self._cluster.add_node(**NODE)

    def kill(self) -> None:
        """Kill the first node."""
        self._cluster.remove_node(next(iter(self._cluster.worker_nodes)), allow_graceful=False)

    def close(self) -> None:
        """Stop the cluster."""
        self._cluster.shutdown()
        for number in range(1, self._made + 1):
            remove_group(CPU / f"cluster-{os.getpid()}-{number}")


@contextmanager
def cpu_quota(name: str, cores: float) -> Iterator[None]:
    """Give what this process starts meanwhile a quota of `cores` processors."""
    if cores == 1:
        yield
        return
    group = CPU / name
    group.mkdir()
    period_us = 20_000
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{round(cores * period_us)} {period_us}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(round(cores * period_us)))
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (CPU / "cgroup.procs").write_text(str(os.getpid()))


def remove_group(group: Path, timeout_s: float = 20.0) -> None:
    """Remove a control group, and those of slots in it, once their processes have ended."""
    deadline_s = time.monotonic() + timeout_s
    while group.is_dir():
        try:
            for folder in (*group.glob("agnostics-*"), group):
                folder.rmdir()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.1)


@contextmanager
def open_nodes(count: int, cores: float) -> Iterator[Nodes]:
    """A cluster of `count` nodes."""
    nodes = Nodes(cores)
    try:
        for _ in range(count):
            nodes.add()
        yield nodes
    finally:
        nodes.close()


def main() -> None:
    """Measure both in turns, print the ratio of each round, then lose a node and let one join."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--cores", type=float, default=1.0)
    parser.add_argument("--language", default="lua")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sandbox", default="bubblewrap")
    chosen = parser.parse_args()
    plugins = load_plugins()
    starter, _ = plugins.dataset("starter")
    workload = make_workload(plugins.language(chosen.language), starter.tasks("test"), tests=10)
    ratios = []
    for _ in range(chosen.rounds):
        one, many = (per_s(workload, count, chosen) for count in (1, chosen.nodes))
        ratios.append(many / one)
        print(f"one node {one:.1f} programs/s, {chosen.nodes} nodes {many:.1f}: {many / one:.2f} times")
    print(f"median {median(ratios):.2f} times")
    print_changes(workload, chosen)


def per_s(workload: Workload, nodes: int, chosen: Any) -> float:
    """Programs per second on a cluster of `nodes` nodes."""
    with open_nodes(nodes, chosen.cores), Verifier(f"ray://auto/{chosen.sandbox}") as verifier:
        count = round(WARM / seconds(verifier, workload, WARM) * BATCH_S)
        return count / seconds(verifier, workload, count)


def print_changes(workload: Workload, chosen: Any) -> None:
    """Print the speed before a node is killed, without it, and once another one has joined."""
    with open_nodes(chosen.nodes, chosen.cores) as nodes, Verifier(f"ray://auto/{chosen.sandbox}") as verifier:
        count = round(WARM / seconds(verifier, workload, WARM) * BATCH_S)
        for change in ("", "one killed meanwhile", "without it", "another one joining", "with it"):
            start_s = time.perf_counter()
            slots = verifier.slots
            futures = submit(verifier, workload, count)
            if change == "one killed meanwhile":
                futures[count // 4].result(timeout=600)
                nodes.kill()
            elif change == "another one joining":
                nodes.add()
            assert all(future.result(timeout=600).accepted for future in futures)
            speed = count / (time.perf_counter() - start_s)
            print(f"{slots} to {verifier.slots} nodes{change and ', ' + change}: {speed:.1f} programs/s, all accepted")


def seconds(verifier: Verifier, workload: Workload, count: int) -> float:
    """Seconds that `count` programs take."""
    start_s = time.perf_counter()
    assert all(future.result(timeout=600).accepted for future in submit(verifier, workload, count))
    return time.perf_counter() - start_s


def submit(verifier: Verifier, workload: Workload, count: int) -> list[Any]:
    """The futures of `count` programs."""
    cases = islice(cycle(workload.cases), count)
    return [verifier.submit(workload.language, *case, stop_on_failure=False) for case in cases]


if __name__ == "__main__":
    main()
