"""The owner of a container or a folder: a process, identified so that a reused process id is not taken for it."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
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


def make_owned_folder(parent: Path) -> Path:
    """Make a folder in `parent` that names this process as its owner and that no other user may enter."""
    pid = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f"agnostics-{_pid_namespace()}-{pid}-{_start_time(pid)}-", dir=parent))


def remove_leftover_folders(parent: Path) -> None:
    """Remove this user's folders in `parent` whose owners are dead."""
    for folder in parent.glob(f"agnostics-{_pid_namespace()}-*-*-*"):
        pid, started = folder.name.split("-")[2:4]
        with suppress(OSError):
            if pid.isdecimal() and _start_time(int(pid)) != started and folder.lstat().st_uid == os.geteuid():
                shutil.rmtree(folder, ignore_errors=True)


def _pid_namespace() -> int:
    """The number of this process's pid namespace."""
    return Path("/proc/self/ns/pid").stat().st_ino


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
