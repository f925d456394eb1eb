"""A command run in a process of its own, whose memory is watched."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agnostics.types.errors import AgnosticsError

TICK_S = 0.25

Gauge = Callable[[int], float]
"""How many MiB the process with this id has taken, or takes."""


def run_watched(command: Sequence[str], log: Path, gauge: Gauge, timeout_s: float) -> float:
    """Run `command`, with its output in the file `log`; the most that `gauge` showed until it ended, in MiB.

    Raises AgnosticsError where it fails or takes longer than `timeout_s`.
    """
    end, peak = time.monotonic() + timeout_s, 0.0
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            while not _ended(process):
                peak = max(peak, gauge(process.pid))
                if time.monotonic() > end:
                    raise AgnosticsError(f"{' '.join(command)} has not ended after {timeout_s:.0f} s")
        finally:
            process.kill()
    if process.returncode:
        raise AgnosticsError(f"{' '.join(command)} failed: {_last_line(log)}")
    return peak


def resident_mb(pid: int) -> float:
    """The most memory that a process has had resident since it began; its children are not counted."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0  # it has just ended


def on_gpus_mb(_: int) -> float:
    """The memory in use on all GPUs, whoever uses it."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    return float(sum(map(int, output.stdout.split())))


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=TICK_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _last_line(log: Path) -> str:
    return (log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["it printed nothing"])[-1]
