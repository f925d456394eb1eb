"""Speed of two nodes of a cluster relative to one, each with one processor, on this machine.

python benchmarks/cluster.py [--language lua] [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import cycle, islice
from statistics import median

from agnostics.plugins.manager import load_plugins
from agnostics.verify import Verifier
from agnostics_benchmarks.workload import Workload, make_workload
from ray.cluster_utils import Cluster

WARM = 50
BATCH_S = 10.0


def main() -> None:
    """Measure both in turns and print the ratio of each round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", default="lua")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sandbox", default="bubblewrap")
    chosen = parser.parse_args()
    plugins = load_plugins()
    starter, _ = plugins.dataset("starter")
    workload = make_workload(plugins.language(chosen.language), starter.tasks("test"), tests=10)
    ratios = []
    for _ in range(chosen.rounds):
        one, two = (per_s(workload, nodes, chosen.sandbox) for nodes in (1, 2))
        ratios.append(two / one)
        print(f"one node {one:.1f} programs/s, two nodes {two:.1f}: {two / one:.2f} times")
    print(f"median {median(ratios):.2f} times")


def per_s(workload: Workload, nodes: int, mode: str) -> float:
    """Programs per second on a cluster of `nodes` nodes."""
    node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    for _ in range(nodes - 1):
        cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    os.environ["RAY_ADDRESS"] = cluster.address
    try:
        with Verifier(f"ray://auto/{mode}") as verifier:
            count = round(WARM / seconds(verifier, workload, WARM) * BATCH_S)
            return count / seconds(verifier, workload, count)
    finally:
        cluster.shutdown()


def seconds(verifier: Verifier, workload: Workload, count: int) -> float:
    """Seconds that `count` programs take."""
    begun = time.perf_counter()
    cases = islice(cycle(workload.cases), count)
    futures = [verifier.submit(workload.language, *case, stop_on_failure=False) for case in cases]
    assert all(future.result(timeout=600).accepted for future in futures)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
