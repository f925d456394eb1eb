"""Latency of one program, from its request to its verdict, on an idle sandbox."""

from __future__ import annotations

import time
from itertools import cycle, islice
from statistics import quantiles

from agnostics.types.errors import AgnosticsError
from agnostics.verify import Verifier

from agnostics_benchmarks.contenders import Bare
from agnostics_benchmarks.workload import Workload

PROGRAMS = 400
LONGEST_S = 20.0
"""Maximum seconds for one contender; slow languages run fewer programs."""


def latencies(workload: Workload, modes: tuple[str, ...], image: str | None) -> dict[str, dict[str, float]]:
    """The 50th and 99th percentiles in milliseconds, of the bare limit (in `image`, if given) and of each mode."""
    with Bare(1, image) as bare:
        warm = bare.seconds(workload, 5) / 5
        count = max(20, min(PROGRAMS, int(LONGEST_S / warm)))
        found = {"bare": _percentiles(bare.latencies_ms(workload, count))}
    return found | {mode: _percentiles(_verified_ms(workload, mode, count)) for mode in modes}


def _verified_ms(workload: Workload, mode: str, count: int) -> list[float]:
    with Verifier(mode, slots=1) as verifier:
        verifier.verify(workload.language, *workload.cases[0])
        return [_one_ms(verifier, workload, case) for case in islice(cycle(range(len(workload.cases))), count)]


def _one_ms(verifier: Verifier, workload: Workload, case: int) -> float:
    begun = time.perf_counter()
    verification = verifier.verify(workload.language, *workload.cases[case])
    took_ms = (time.perf_counter() - begun) * 1000
    if not verification.accepted:
        raise AgnosticsError(f"a right program was not accepted ({verification.verdict}): no time of it counts")
    return took_ms


def _percentiles(times_ms: list[float]) -> dict[str, float]:
    cuts = quantiles(times_ms, n=100, method="inclusive")
    return {"p50": round(cuts[49], 3), "p99": round(cuts[98], 3)}
