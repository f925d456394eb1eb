"""Programs under comparison: the bare limit, `agn verify` in a mode, and a container per program."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Protocol, Self

from agnostics.types.errors import AgnosticsError

from agnostics_benchmarks.binary import bare_path
from agnostics_benchmarks.workload import Workload

STOP_S = 60


class Contender(Protocol):
    """Something that runs programs, `slots` at a time. A context manager that stays warm while it is open."""

    name: str

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...

    def seconds(self, workload: Workload, count: int) -> float:
        """Seconds that `count` programs take. Raises AgnosticsError if one of them is not accepted."""


class Bare:
    """Processes of `bare.c`, each with a share of the programs.

    They use the toolchain of this machine; where `image` is given, that of the image, in a container that they stay in.
    """

    def __init__(self, slots: int, image: str | None = None, name: str = "bare") -> None:
        self.name = name
        self._slots = slots
        self._command = _in_container(image) if image else [str(bare_path())]
        self._open = ExitStack()
        self._workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        for _ in range(self._slots):
            folder = self._open.enter_context(_ram_folder())
            self._workers.append(_start(self._command, folder))
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self._workers:
            _stop(worker)
        self._open.close()

    def latencies_ms(self, workload: Workload, count: int) -> list[float]:
        """Milliseconds that each of `count` programs takes on the first of the processes."""
        answers = _ask(self._workers[0], b"".join(workload.frames(count)), count)
        _insist(sum(line.startswith(b"1 ") for line in answers), count, self.name)
        return [int(line.split()[1]) / 1000 for line in answers]

    def seconds(self, workload: Workload, count: int) -> float:
        """See `Contender`."""
        frames = workload.frames(count)
        shares = [frames[start :: self._slots] for start in range(self._slots)]
        with ThreadPoolExecutor(self._slots) as threads:
            begun = time.perf_counter()
            asked = [
                threads.submit(_ask, worker, b"".join(share), len(share))
                for worker, share in zip(self._workers, shares, strict=True)
            ]
            answers = [line for answer in asked for line in answer.result()]
            took = time.perf_counter() - begun
        _insist(sum(line.startswith(b"1 ") for line in answers), count, self.name)
        return took


class Stream:
    """`agn verify` over a pipe, warm: JSON lines in, verdicts out."""

    def __init__(self, mode: str, slots: int) -> None:
        self.name = mode
        self._command = [sys.executable, "-m", "agnostics", "verify", "-", "--sandbox", mode, "--slots", str(slots)]

    def __enter__(self) -> Self:
        self._process = _start(self._command, Path.cwd())
        return self

    def __exit__(self, *exception: object) -> None:
        _stop(self._process)

    @property
    def pid(self) -> int:
        """The process of `agn verify`."""
        return self._process.pid

    def seconds(self, workload: Workload, count: int) -> float:
        """See `Contender`."""
        lines = workload.lines(count)
        begun = time.perf_counter()
        answers = _ask(self._process, lines, count)
        took = time.perf_counter() - begun
        _insist(sum(json.loads(answer).get("verdict") == "accepted" for answer in answers), count, self.name)
        return took


class ContainerPerProgram:
    """`docker run` for each program, `slots` at a time; what runs in it is `bare.c`."""

    name = "docker_run"

    def __init__(self, image: str, slots: int) -> None:
        self._command = _in_container(image)
        self._slots = slots

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def seconds(self, workload: Workload, count: int) -> float:
        """See `Contender`."""
        frames = workload.frames(count)
        with ThreadPoolExecutor(self._slots) as threads:
            begun = time.perf_counter()
            accepted = sum(threads.map(self._accepts, frames))
            took = time.perf_counter() - begun
        _insist(accepted, count, self.name)
        return took

    def _accepts(self, frame: bytes) -> bool:
        answer = subprocess.run(self._command, input=frame, capture_output=True, check=False, timeout=STOP_S)
        return answer.stdout.startswith(b"1 ")


def _in_container(image: str) -> list[str]:
    command = ["docker", "run", "--rm", "-i", "--network", "none", "--tmpfs", "/w:exec", "-w", "/w"]
    return [*command, "-v", f"{bare_path()}:/bare:ro", "--entrypoint", "/bare", image]


def _ram_folder() -> tempfile.TemporaryDirectory[str]:
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(prefix="agnostics-bare-", dir=memory if memory.is_dir() else None)


def _start(command: Sequence[str], folder: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)


def _stop(process: subprocess.Popen[bytes]) -> None:
    with process:
        assert process.stdin
        process.stdin.close()
        try:
            process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()


def _ask(process: subprocess.Popen[bytes], questions: bytes, answers: int) -> list[bytes]:
    """Write the questions while the answers, a line each, are read."""
    assert process.stdin
    assert process.stdout
    writer = threading.Thread(target=_write, args=(process.stdin, questions), daemon=True)
    writer.start()
    lines = [line for _, line in zip(range(answers), iter(process.stdout.readline, b""), strict=False)]
    writer.join(timeout=STOP_S)
    if len(lines) < answers:
        raise AgnosticsError(f"{process.args!r} ended before it had answered everything")
    return lines


def _write(to: IO[bytes], questions: bytes) -> None:
    to.write(questions)
    to.flush()


def _insist(accepted: int, count: int, name: str) -> None:
    if accepted < count:
        raise AgnosticsError(f"{name} accepted only {accepted} of {count} right programs: no time of it counts")
