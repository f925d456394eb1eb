"""The paths of the harness, a static binary for this processor, and of the library that holds interpreters for it."""

from __future__ import annotations

import platform
import subprocess
from functools import lru_cache
from pathlib import Path

from agnostics.types.errors import MissingRequirement

_TRIAL_TIMEOUT_S = 10


def can_start(harness: Path, options: list[str], command: list[str]) -> bool:
    """Whether the harness can prepare a slot with `options` here (`harness --join`), shown by executing `command`."""
    arguments = [str(harness), "--join", *options, "--", *command]
    try:
        return subprocess.run(arguments, capture_output=True, timeout=_TRIAL_TIMEOUT_S, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def harness_path() -> Path:
    """The path of the harness. Raises MissingRequirement if it was not built."""
    path = Path(__file__).parent / "bin" / f"harness-{platform.machine()}"
    if not path.exists():
        raise MissingRequirement(f"harness is missing ({path}); run: pip install --force-reinstall agnostics")
    return path


@lru_cache
def container_filter(loopback: bool = False) -> str:
    """The system call filter of containers in which the harness runs, as JSON for engines (harness/seccomp.c).

    With `loopback` it leaves sockets of IPv4 to the harness's own filter.
    """
    printed = [str(harness_path()), "--filter", *(["--loopback"] if loopback else [])]
    return subprocess.run(printed, capture_output=True, text=True, timeout=_TRIAL_TIMEOUT_S, check=True).stdout


def hold_library_path() -> Path:
    """The path of the library of the fork server (harness/fork_server.c), which is built with the harness."""
    return harness_path().with_name(f"hold-{platform.machine()}.so")
