"""`agn verify --serve` against `agn verify`, on the same right programs of a language, in turns.

python benchmarks/verify_service.py [--language lua] [--programs 2000] [--tests 1] [--rounds 5] [--slots N]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from http.client import HTTPConnection
from itertools import cycle, islice
from statistics import median, quantiles
from typing import Self
from urllib.parse import urlsplit

from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.pool import available_cores
from agnostics.types.errors import AgnosticsError
from agnostics_benchmarks.contenders import Stream
from agnostics_benchmarks.workload import Workload, make_workload

LATENCIES = 300


class Service:
    """`agn verify --serve`, warm, with one connection to it."""

    name = "service"

    def __init__(self, mode: str, slots: int) -> None:
        self._command = [sys.executable, "-m", "agnostics", "verify", "--serve", "127.0.0.1:0"]
        self._command += ["--sandbox", mode, "--slots", str(slots)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        self._connection = HTTPConnection(urlsplit(self._process.stdout.readline().strip()).netloc)
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait(timeout=60)

    def seconds(self, workload: Workload, count: int) -> float:
        """Seconds that `count` programs take in one request. Raises AgnosticsError if one of them is not accepted."""
        lines = workload.lines(count)
        begun = time.perf_counter()
        self._connection.request("POST", "/verify", lines, {"Content-Type": "application/x-ndjson"})
        replies = self._connection.getresponse().read().splitlines()
        took = time.perf_counter() - begun
        if sum(json.loads(reply).get("verdict") == "accepted" for reply in replies) < count:
            raise AgnosticsError("not every program was accepted: no time of it counts")
        return took


def main() -> None:
    """Measure in turns, and print medians and the spread of the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", default="lua")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--tests", type=int, default=1, help="tests of a program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--slots", type=int, default=available_cores())
    chosen = parser.parse_args()
    plugins = load_plugins()
    starter, _ = plugins.dataset("starter")
    workload = make_workload(plugins.language(chosen.language), starter.tasks("test"), chosen.tests)
    with Stream(chosen.sandbox, chosen.slots) as command, Service(chosen.sandbox, chosen.slots) as service:
        for contender in (command, service):
            contender.seconds(workload, 100)
        rounds = [
            (command.seconds(workload, chosen.programs), service.seconds(workload, chosen.programs))
            for _ in range(chosen.rounds)
        ]
        ones = [_latencies_ms(contender, workload) for contender in (command, service)]
    ratios = [by_command / by_service for by_command, by_service in rounds]
    for name, seconds, times_ms in zip(("command", "service"), zip(*rounds, strict=True), ones, strict=True):
        cuts = quantiles(times_ms, n=100, method="inclusive")
        rate = chosen.programs / median(seconds)
        print(f"{name}: {rate:.0f} programs/s; one program: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms")
    print(f"service / command: {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def _latencies_ms(contender: Stream | Service, workload: Workload) -> list[float]:
    """Milliseconds of programs that are sent one after the other."""
    cases = islice(cycle(range(len(workload.cases))), LATENCIES)
    return [contender.seconds(Workload(workload.language, (workload.cases[case],)), 1) * 1000 for case in cases]


if __name__ == "__main__":
    main()
