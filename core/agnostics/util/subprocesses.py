"""How a process of ours ends with the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """End this process when its `parent` ends, even where that is killed: with the thread of it that started us."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def exit_description(status: int) -> str:
    """The words for a process's exit `status`, as `subprocess` gives it."""
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
