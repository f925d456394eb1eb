"""Who owns a container: a process named so that its death can be told, however its number is reused."""

from __future__ import annotations

import os
from pathlib import Path


def current_owner() -> dict[str, str]:
    """The labels that say that a container belongs to this process."""
    pid = os.getpid()
    return {"agnostics.scope": _scope(), "agnostics.pid": str(pid), "agnostics.started": _started(pid)}


def has_died(labels: dict[str, str]) -> bool:
    """Whether the owner that `labels` name is known to be dead; False where it lives elsewhere, or cannot be seen."""
    if labels.get("agnostics.scope") != _scope():
        return False
    return _started(int(labels["agnostics.pid"])) != labels["agnostics.started"]


def _scope() -> str:
    """Where process numbers mean the same: this boot of this machine, and this pid namespace."""
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{Path('/proc/self/ns/pid').readlink()}"


def _started(pid: int) -> str:
    """When process `pid` started, in clock ticks since boot; empty where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
