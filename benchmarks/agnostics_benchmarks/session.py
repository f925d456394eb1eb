"""Sessions against a bash that stays, and against SWE-ReX where it is installed."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from agnostics.sandbox.pool import available_cores
from agnostics.sandbox.session import Session
from agnostics.sandbox.session_pool import SessionPool
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language

ROUNDS = 5
COMMANDS = 200
"""Commands of a contender in a round."""
SLOW_COMMANDS = 10
STARTS = 20
OPEN = 100
STEPS_S = 5.0
SESSIONS_AT_ONCE = 8
"""For each core, in the measurement of steps: as many environments wait for a model meanwhile."""
TIMEOUT_S = 60.0
TRUE = "/bin/true"
STEP = 'echo "$RANDOM" >> log; tail -n 5 log; wc -l < log'
"""A command as an agent gives it: it writes to the workspace and reads from it."""

Run = Callable[[], None]


def measure_sessions(language: Language, modes: tuple[str, ...]) -> dict[str, Any]:
    """The report of `agn bench session`: times in milliseconds, ratios of medians within a round, memory in MiB."""
    with ExitStack() as stack:
        contenders: dict[str, Run] = {"persistent_bash": stack.enter_context(_persistent_bash())}
        for mode in modes:
            session = stack.enter_context(stack.enter_context(SessionPool(language, mode, warm=0)).open())
            contenders[mode] = _command(session, [TRUE])
            contenders[f"{mode}_shell"] = _command(session, ["bash", "-c", f"{TRUE}; true"])
        if find_spec("swerex"):
            contenders["swe_rex"] = stack.enter_context(_swe_rex())
        rounds = [{name: _median_ms(run, name) for name, run in contenders.items()} for _ in range(ROUNDS)]
    return {
        "cores": available_cores(),
        "round_trip_ms": {name: _rounded(median(times[name] for times in rounds)) for name in contenders},
        "over_persistent_bash": _ratios(rounds, _over_persistent_bash),
        "swe_rex_over": _ratios(rounds, _swe_rex_over) if "swe_rex" in contenders else None,
        "start_ms": {mode: _starts(language, mode) for mode in modes},
        "memory_mb_per_session": {mode: _rounded(_memory_mb(language, mode)) for mode in modes},
        "open_sessions": OPEN,
        "steps_per_s": {mode: _rounded(_steps_per_s(language, mode)) for mode in modes},
    }


def _over_persistent_bash(times: dict[str, float], name: str) -> float:
    return times[name] / times["persistent_bash"]


def _swe_rex_over(times: dict[str, float], name: str) -> float:
    return times["swe_rex"] / times[name]


def _ratios(rounds: list[dict[str, float]], ratio: Callable[[dict[str, float], str], float]) -> dict[str, float]:
    return {name: _rounded(median(ratio(times, name) for times in rounds)) for name in rounds[0]}


def _median_ms(run: Run, name: str) -> float:
    return median(_ms(run) for _ in range(SLOW_COMMANDS if name == "swe_rex" else COMMANDS))


def _ms(run: Run) -> float:
    begun = time.perf_counter()
    run()
    return (time.perf_counter() - begun) * 1000


def _command(session: Session, argv: list[str]) -> Run:
    def run() -> None:
        if session.exec(argv).exit_code != 0:
            raise AgnosticsError(f"{argv} failed in a session: no time of it counts")

    return run


@contextmanager
def _persistent_bash() -> Iterator[Run]:
    """One bash outside any sandbox, which reads commands from a pipe and writes their exit status to another."""
    command = ["bash", "--norc", "--noprofile"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        given, written = process.stdin, process.stdout
        assert given
        assert written

        def run() -> None:
            given.write(f"{TRUE}; echo $?\n".encode())
            if written.readline() != b"0\n":
                raise AgnosticsError("the bash outside the sandbox failed: no time of it counts")

        yield run
        process.kill()


@contextmanager
def _swe_rex() -> Iterator[Run]:
    """A session of SWE-ReX's local runtime, without a container."""
    from swerex.runtime.abstract import BashAction, CloseBashSessionRequest, CreateBashSessionRequest
    from swerex.runtime.local import LocalRuntime

    with asyncio.Runner() as runner:
        runtime = LocalRuntime()
        runner.run(runtime.create_session(CreateBashSessionRequest()))

        def run() -> None:
            observation = runner.run(runtime.run_in_session(BashAction(command=TRUE, timeout=TIMEOUT_S)))
            if observation.exit_code != 0:
                raise AgnosticsError("SWE-ReX failed: no time of it counts")

        yield run
        runner.run(runtime.close_session(CloseBashSessionRequest()))


def _starts(language: Language, mode: str) -> dict[str, float]:
    """From the request for a session to the end of its first command, in slots that wait and had no session before."""
    with SessionPool(language, mode, warm=STARTS) as pool:
        pool.await_warm()
        with ExitStack() as sessions:
            times = [_ms(lambda: _first_command(pool, sessions)) for _ in range(STARTS)]
    cuts = quantiles(times, n=100, method="inclusive")
    return {"p50": _rounded(cuts[49]), "p99": _rounded(cuts[98])}


def _first_command(pool: SessionPool, sessions: ExitStack) -> None:
    _command(sessions.enter_context(pool.open()), [TRUE])()


def _memory_mb(language: Language, mode: str) -> float:
    """By how much the memory that the machine has left falls for each open session that has run a command."""
    with SessionPool(language, mode, warm=0) as pool, ExitStack() as sessions:
        _first_command(pool, sessions)
        before = _available_mb()
        for _ in range(OPEN):
            _first_command(pool, sessions)
        return (before - _available_mb()) / OPEN


def _available_mb() -> float:
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    return int(lines["MemAvailable"].split()[0]) / 1024


def _steps_per_s(language: Language, mode: str) -> float:
    """Commands a second of many sessions, each with a thread that gives it the next one when the last has ended."""
    count = SESSIONS_AT_ONCE * available_cores()
    with SessionPool(language, mode, warm=0) as pool, ExitStack() as open_:
        sessions = [open_.enter_context(pool.open()) for _ in range(count)]
        threads = open_.enter_context(ThreadPoolExecutor(count))
        begun = time.perf_counter()
        steps = sum(threads.map(_steps, sessions))
        return steps / (time.perf_counter() - begun)


def _steps(session: Session) -> int:
    run, until, steps = _command(session, ["bash", "-c", STEP]), time.monotonic() + STEPS_S, 0
    while time.monotonic() < until:
        run()
        steps += 1
    return steps


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
