"""Our tracer of Python against PySnooper and hunter, where they are installed, on one program in one interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from agnostics.sandbox.pool import available_cores
from agnostics.traces.python import PYTHON
from agnostics.types.errors import AgnosticsError, MissingRequirement

ROUNDS = 5
REPEATS = 40
"""How often the program does its work for our tracer; for the others once."""
_SIZE = 16
_TIMEOUT_S = 300
_PROGRAM = """
def primes(limit):
    found = []
    for k in range(2, limit):
        prime = True
        for p in found:
            if p * p > k:
                break
            if k % p == 0:
                prime = False
                break
        if prime:
            found.append(k)
    return found

def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

def words(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items())

def main(size):
    total = fib(size) + len(primes(size * 20))
    for k in range(size):
        total += len(words("a b a c d e a b " * 3))
    return total

for _ in range(REPEATS):
    main(SIZE)
"""
"""Recursion, loops, and values that are small, grow, and are compared: a list and a dictionary."""
_TIMED = """
import time
begun = time.process_time()
{run}
print(time.process_time() - begun)
"""
_EXECUTE = "exec(compile(open('solution.py').read(), 'solution.py', 'exec'), {'__name__': '__main__'})"
_RUNS = {
    "bare": _EXECUTE,
    "ours": "import agn_trace; agn_trace.run('solution.py')",
    "pysnooper": f"import pysnooper\nwith pysnooper.snoop('out', depth=1000): {_EXECUTE}",
    "hunter": (
        "import hunter\nout = open('out', 'w')\n"
        "with hunter.trace(filename='solution.py', action=hunter.VarsSnooper(stream=out)):\n"
        f"    {_EXECUTE}\nout.close()"
    ),
}
"""What each does with the program: all but the first write every event, with the variables that have changed."""


def measure_traces() -> dict[str, Any]:
    """The report of `agn bench traces`: events a second of processor time, and ratios of medians within a round.

    Raises MissingRequirement if our tracer cannot be compiled here.
    """
    names = [name for name in _RUNS if name in ("bare", "ours") or find_spec(name)]
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        _build(workspace)
        events = _count_events(workspace)
        rounds = [{name: _events_per_s(workspace, name, events) for name in names} for _ in range(ROUNDS)]
    rates = {name: round(median(rates[name] for rates in rounds)) for name in names}
    others = [name for name in names if name not in ("bare", "ours")]
    over = {name: round(median(rates["ours"] / rates[name] for rates in rounds), 1) for name in others}
    return {
        "cores": available_cores(),
        "python": sys.version.split()[0],
        "events": events,
        "events_per_s": {name: rate for name, rate in rates.items() if name != "bare"},
        "ours_over": over,
        "traced_over_bare": round(median(rates["bare"] / rates["ours"] for rates in rounds), 1),
    }


def _build(workspace: Path) -> None:
    assert PYTHON.trace
    for name, text in PYTHON.trace.files.items():
        (workspace / name).write_text(text, encoding="utf-8")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    built = subprocess.run(
        PYTHON.trace_build_argv() or [],
        cwd=workspace,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
        env={**os.environ, "PATH": path},
    )
    if built.returncode:
        raise MissingRequirement(f"the tracer could not be compiled: {built.stderr.strip().splitlines()[-1]}")


def _count_events(workspace: Path) -> int:
    _seconds(workspace, "ours", 1)
    lines = (workspace / "trace.jsonl").read_text(encoding="ascii").splitlines()
    if lines[-1] != '{"end":"complete"}':
        raise AgnosticsError(f"the trace of the program is not complete: {lines[-1]}")
    return len(lines) - 1


def _events_per_s(workspace: Path, name: str, events: int) -> float:
    """Of the bare program, the events that it would have."""
    repeats = REPEATS if name in ("bare", "ours") else 1
    return repeats * events / _seconds(workspace, name, repeats)


def _seconds(workspace: Path, name: str, repeats: int) -> float:
    """The processor time of a process that executes the program, without its start."""
    program = f"REPEATS, SIZE = {repeats}, {_SIZE}\n{_PROGRAM}"
    (workspace / "solution.py").write_text(program, encoding="utf-8")
    limits = {"AGN_TRACE": "trace.jsonl", "AGN_TRACE_EVENTS": str(10**9), "AGN_TRACE_BYTES": str(1 << 32)}
    ran = subprocess.run(
        [sys.executable, "-c", _TIMED.format(run=_RUNS[name])],
        cwd=workspace,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
        env={**os.environ, **limits},
    )
    if ran.returncode:
        raise AgnosticsError(f"{name} failed: {ran.stderr.strip().splitlines()[-1]}")
    return float(ran.stdout)
