"""Child processes: their end with the parent's, and words for their exit status."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


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
