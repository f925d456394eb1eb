"""Paths of the kernel that programs may not see, beside what container engines mask by themselves."""

from __future__ import annotations

from pathlib import Path

MASKED_PATHS = (
    "/proc/pressure",
    "/proc/kallsyms",
    "/proc/config.gz",
    "/proc/interrupts",
    "/proc/cmdline",
    "/dev/pts",
)
"""A process with triggers on `/proc/pressure` takes half a minute to end, whatever signal it gets; `/dev/pts` gives
terminals, of which the machine has few; the others say more of the machine than a program needs."""
_BY_DOCKER = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
)
"""Docker's own list, which one in a request replaces."""


def docker_masked_paths() -> list[str]:
    """All paths that the engine has to mask; it ignores those that are not there."""
    return [*_BY_DOCKER, *MASKED_PATHS]


def bubblewrap_mask() -> list[str]:
    """The arguments that mask the paths which are here: a folder is empty, a file cannot be read."""
    arguments: list[str] = []
    for path in map(Path, MASKED_PATHS):
        if path.is_dir():
            arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]
        elif path.exists():
            arguments += ["--ro-bind", "/dev/null", str(path)]
    return arguments
