"""Control groups for slots: kernel limits on memory and processes, version 1 or 2, where this user may make them."""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_numbers = itertools.count()


@dataclass(frozen=True)
class Parents:
    """The folders under which a slot's groups are made: one for each controller in version 1, the same in version 2."""

    version: int
    memory: Path | None
    pids: Path | None


class SlotGroup:
    """The groups of one slot. Entered by writing to `entrances`; removed by `close`, once empty."""

    def __init__(self, parents: Parents) -> None:
        self._version = parents.version
        name = f"agnostics-{os.getpid()}-{next(_numbers)}"
        self.memory = _make(parents.memory, name)
        self._pids = _make(parents.pids, name)

    @property
    def entrances(self) -> list[Path]:
        """The files that a process writes itself into."""
        return [folder / "cgroup.procs" for folder in self._folders()]

    @property
    def unenforced(self) -> tuple[str, ...]:
        return ("memory",) * (self.memory is None) + ("processes",) * (self._pids is None)

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Set the limits, in MiB and processes; swap is off."""
        if self._pids:
            (self._pids / "pids.max").write_text(str(processes))
        if self.memory and self._version == 1:
            _set_memory_1(self.memory, memory_mb << 20)
        elif self.memory:
            (self.memory / "memory.max").write_text(str(memory_mb << 20))

    def close(self) -> None:
        """Remove the groups; their last processes may take a moment to go."""
        deadline = time.monotonic() + 5
        for folder in self._folders():
            while folder.exists() and time.monotonic() < deadline:
                with suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.005)

    def _folders(self) -> list[Path]:
        return list(dict.fromkeys(folder for folder in (self.memory, self._pids) if folder))


def find_parents() -> Parents:
    """Where this process may make groups; a controller that it may not use is None."""
    paths = dict(_own_groups())
    mounts = _mounts()
    if "memory" in mounts:
        memory, pids = (_usable(mounts.get(c), paths.get(c, "/")) for c in ("memory", "pids"))
        return Parents(1, memory, pids)
    root = mounts.get("")
    parent = _delegating(root, paths.get("", "/")) if root else None
    return Parents(2, parent, parent)


def remove_leftovers(parents: Parents) -> None:
    """Remove groups whose makers are dead."""
    for parent in {parents.memory, parents.pids} - {None}:
        assert parent is not None
        for folder in parent.glob("agnostics-*-*"):
            if not Path("/proc", folder.name.split("-")[1]).exists():
                with suppress(OSError):
                    folder.rmdir()


def _own_groups() -> list[tuple[str, str]]:
    """The groups of this process by controller ("" in version 2)."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    fields = [line.split(":", 2) for line in lines]
    return [(controller, path) for _, controllers, path in fields for controller in controllers.split(",")]


def _mounts() -> dict[str, Path]:
    """Where each controller is mounted ("" for version 2)."""
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2":
            found.setdefault("", Path(before.split()[4]))
        elif kind == "cgroup":
            found.update({c: Path(before.split()[4]) for c in options.split(",") if c in {"memory", "pids"}})
    return found


def _usable(mount: Path | None, path: str) -> Path | None:
    """Our own group, or the root of the mount where a container hides what is above."""
    candidates = [mount / path.lstrip("/"), mount] if mount else []
    return next((folder for folder in candidates if _may_make_groups(folder)), None)


def _may_make_groups(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)


def _delegating(root: Path, path: str) -> Path | None:
    """The nearest group from our own upwards that hands memory and pids on to its children and lets us make some."""
    own = root / path.lstrip("/")
    for folder in (own, *own.parents):
        with suppress(OSError):
            handed_on = (folder / "cgroup.subtree_control").read_text().split()
            if {"memory", "pids"} <= set(handed_on) and _may_make_groups(folder):
                return folder
        if folder == root:
            break
    return None


def _make(parent: Path | None, name: str) -> Path | None:
    if parent is None:
        return None
    folder = parent / name
    try:
        folder.mkdir(exist_ok=True)
        if (folder / "memory.swap.max").exists():
            (folder / "memory.swap.max").write_text("0")
    except OSError:
        return None
    return folder


def _set_memory_1(folder: Path, size: int) -> None:
    """Version 1 wants memory and swap together never below memory alone, so the order depends on the way."""
    names = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]
    if size > int((folder / names[0]).read_text()):
        names.reverse()
    for name in names:
        if (folder / name).exists():
            (folder / name).write_text(str(size))
