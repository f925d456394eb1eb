"""Child processes: modules that run as programs of their own, with a connection to the parent."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Self

from agnostics.types.errors import AgnosticsError

_EXIT_TIMEOUT_S = 10.0
_PR_SET_PDEATHSIG = 1


class ChildProcess:
    """The program `module` in a process of its own, which calls `connect_to_parent`; a context manager.

    It dies with the thread that started it; an interrupt from the keyboard does not reach it. What it prints goes to
    stderr. `description` is the subject of error messages; `environment` replaces this process's. On exit the
    connection is closed, which tells the program to end, and it is killed if it does not within 10 seconds.
    """

    def __init__(self, module: str, description: str, environment: Mapping[str, str] | None = None) -> None:
        self._description = description
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=2,
                start_new_session=True,
            )
        self.connection: Connection[Any, Any] = Connection(ours.detach())

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    def ended(self) -> AgnosticsError:
        """The error of a process that has closed the connection."""
        return AgnosticsError(f"{self._description} {exit_description(self._process.wait(_EXIT_TIMEOUT_S))}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._process as process:
            self.connection.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_EXIT_TIMEOUT_S)
            process.kill()


def connect_to_parent() -> Connection[Any, Any]:
    """The connection to the `ChildProcess` that started this program, with which the program dies."""
    descriptor, parent = map(int, sys.argv[1:3])
    die_with_parent(parent)
    return Connection(descriptor)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the thread of `parent` that started it ends, even if that is killed.

    Exits at once if `parent` has ended already.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def exit_description(status: int) -> str:
    """A process's exit `status`, as `subprocess` reports it, in words."""
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
