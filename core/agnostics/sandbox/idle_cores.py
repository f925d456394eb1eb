"""How many processors were idle, from the kernel's count: while one is, no program waits for a processor."""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections import deque
from contextlib import suppress
from pathlib import Path

SAMPLE_S = 0.05
"""The least time between two samples."""
_MAX_SAMPLES = 4096
_IDLE_FIELD = 4
"""The place of the idle time in a line of /proc/stat; waiting for a disk is counted apart."""


class IdleCores:
    """Samples of the idle time of the processors that this process may use."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque(maxlen=_MAX_SAMPLES)
        self._names = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        self._is_throttled = _has_quota()
        self.sample()

    def sample(self) -> None:
        """Take a sample, unless the last one is recent."""
        now = time.monotonic()
        if not self._samples or now >= self._samples[-1][0] + SAMPLE_S:
            self._samples.append((now, self._idle_s()))

    def since(self, start: float) -> float:
        """The mean number of idle processors from `start` (of `time.monotonic`) until now.

        0 if a quota may keep this process from them, which the kernel counts as idle.
        """
        if self._is_throttled:
            return 0.0
        times = [at for at, _ in self._samples]
        at, idle_s = self._samples[max(0, bisect_right(times, start) - 1)]
        now = time.monotonic()
        return (self._idle_s() - idle_s) / (now - at) if now > at else 0.0

    def _idle_s(self) -> float:
        lines = (line.split() for line in Path("/proc/stat").read_text().splitlines())
        ticks = sum(int(line[_IDLE_FIELD]) for line in lines if line[0] in self._names)
        return ticks / os.sysconf("SC_CLK_TCK")


def _has_quota() -> bool:
    """Whether the control group of this process bounds its processor time (version 1 or 2)."""
    root = Path("/sys/fs/cgroup")
    groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    paths = {name: path.lstrip("/") for _, names, path in groups for name in names.split(",")}
    files = [root / "cpu.max", root / paths.get("", "") / "cpu.max"]
    files += [root / "cpu" / "cpu.cfs_quota_us", root / "cpu" / paths.get("cpu", "") / "cpu.cfs_quota_us"]
    for file in files:
        with suppress(OSError):
            if file.read_text().split()[0] not in {"max", "-1"}:
                return True
    return False
