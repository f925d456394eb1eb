"""Python processes that begin with torch, DeepSpeed and vLLM imported: forks of one server for each test process.

Most tests of a training run need a process of their own, which they may interrupt or kill, but not the ten seconds in
which it imports the libraries. `run` and `Popen` take the commands that `subprocess` takes, if these start this Python
with `-m`, `-c` or a script, and fork the server instead of starting an interpreter. `OMP_NUM_THREADS` and the other
variables that libraries read when they are imported are those of the server: a test that sets them uses `subprocess`.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import IO, Any, Self

PIPE, DEVNULL, STDOUT = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT
TimeoutExpired = subprocess.TimeoutExpired
_context = get_context("forkserver")


def _server() -> None:
    """Start the server that imports `preloaded_modules`, unless it runs."""
    _context.set_forkserver_preload(["preloaded_modules"])
    before = os.environ.get("PYTHONPATH")
    # The server takes its path from the environment, and this folder is not on it.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *([before] if before else [])])
    try:
        forkserver.ensure_running()
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


class Popen:
    """A process like `subprocess.Popen`, of which it has what the tests use; its output is text."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        text: bool = True,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        assert text
        assert command[0] == sys.executable
        self.args = list(command)
        _server()
        self.stdout, out = _stream(stdout)
        self.stderr, err = _stream(stdout if stderr == STDOUT else stderr)
        environment, folder = dict(os.environ if env is None else env), str(cwd or Path.cwd())
        self._process = _context.Process(target=_begin, args=(self.args[1:], folder, environment, out, err))
        self._process.start()
        for end in (out, err):
            if end is not None:
                end.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, or minus the signal that ended the process; None as long as it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str | None, str | None]:
        """Read both streams to their ends, and wait."""
        said: dict[str, str] = {}
        streams = {name: stream for name, stream in [("out", self.stdout), ("err", self.stderr)] if stream}
        readers = [Thread(target=_read, args=(name, stream, said), daemon=True) for name, stream in streams.items()]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join(timeout)
        return said.get("out"), said.get("err")

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.wait()
        for stream in (self.stdout, self.stderr):
            if stream:
                stream.close()


def run(
    command: Sequence[str],
    *,
    capture_output: bool = False,
    text: bool = True,
    timeout: float | None = None,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run` for a `Popen` of this module."""
    pipe = PIPE if capture_output else None
    process = Popen(command, stdout=pipe, stderr=pipe, text=text, cwd=cwd, env=env)
    try:
        out, err = process.communicate(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
    assert process.returncode is not None
    answer = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        answer.check_returncode()
    return answer


def _stream(wanted: int | IO[Any] | None) -> tuple[IO[str] | None, Connection | None]:
    """Our end of a pipe, and the end for the process; None twice where the process shares our stream."""
    if wanted is None:
        return None, None
    if not isinstance(wanted, int):
        return None, Connection(os.dup(wanted.fileno()), readable=False)
    if wanted == DEVNULL:
        return None, Connection(os.open(os.devnull, os.O_WRONLY), readable=False)
    ours, theirs = _context.Pipe(duplex=False)
    with ours:
        return os.fdopen(os.dup(ours.fileno())), theirs


def _read(name: str, stream: IO[str], said: dict[str, str]) -> None:
    said[name] = stream.read()


def _begin(
    arguments: list[str], folder: str, environment: dict[str, str], out: Connection | None, err: Connection | None
) -> None:
    """In the fork: become the process that these arguments of Python ask for."""
    for descriptor, end in ((1, out), (2, err)):
        if end is not None:
            os.dup2(end.fileno(), descriptor)
            end.close()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path not in sys.path]
    kind, *rest = arguments
    if kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        sys.argv = arguments
        runpy.run_path(kind, run_name="__main__")
