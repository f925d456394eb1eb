"""The owner of a container: a process, identified so that a reused process id is not taken for it."""

from __future__ import annotations

import os
from pathlib import Path


def owner_labels() -> dict[str, str]:
    """The labels of a container that belongs to this process."""
    pid = os.getpid()
    return {"agnostics.scope": _scope(), "agnostics.pid": str(pid), "agnostics.started": _start_time(pid)}


def is_dead(labels: dict[str, str]) -> bool:
    """True if the owner named by `labels` is dead; False if it lives, or runs out of sight of this process."""
    if labels.get("agnostics.scope") != _scope():
        return False
    return _start_time(int(labels["agnostics.pid"])) != labels["agnostics.started"]


def _scope() -> str:
    """The scope of process ids: this boot of this machine, and this pid namespace."""
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{Path('/proc/self/ns/pid').readlink()}"


def _start_time(pid: int) -> str:
    """The start time of process `pid` in clock ticks since boot; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
