"""User namespaces for the slots that root starts: root in a slot is an ordinary user of this machine."""

from __future__ import annotations

import os
from pathlib import Path

from agnostics.sandbox.harness_binary import can_start
from agnostics.sandbox.host_folders import bubblewrap_system
from agnostics.sandbox.slot_users import LAST


def user_map(root: int, *users: int) -> str:
    """The map of a namespace in which the user `root` of this machine is root, and `users` are themselves."""
    return "\n".join([f"0 {root} 1", *(f"{user} {user} 1" for user in users)])


def is_root_of_machine(process: int) -> bool:
    """Whether root in the namespace of `process` is root here; not if the process is another machine's."""
    try:
        inside, outside, _ = Path(f"/proc/{process}/uid_map").read_text(encoding="ascii").split()[:3]
    except (OSError, ValueError):
        return False
    return (inside, outside) == ("0", "0")


def can_make_user_namespaces(harness: Path) -> bool:
    """Whether root can start a slot in one here: in a container that hides parts of /proc it cannot mount another."""
    if os.geteuid() != 0:
        return False
    bwrap = ["bwrap", "--unshare-pid", *bubblewrap_system(), "--proc", "/proc", "--dev", "/dev", "true"]
    return can_start(harness, ["--users", user_map(LAST)], bwrap)
