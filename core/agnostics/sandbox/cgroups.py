"""Control groups for slots, if this user may create groups (v1 or v2): limits on memory and processes, and equal shares
of the processors. Those of a slot's programs are in them, beside its harness: their memory and processor time."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_numbers = itertools.count()
_CONTROLLERS = ("memory", "pids", "cpuacct", "cpu")
"""Those of version 1 that slots use."""
_MEMORY_LIMITS = ("memory.max", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
_PROGRAMS, _HARNESS = "programs", "harness"
"""The groups in a slot's: in version 2 the harness has one too, since a group with groups in it has no processes."""
_MEMORY_USAGE = ("memory.current", "memory.usage_in_bytes")
_DROPPABLE = {"active_file", "inactive_file", "slab_reclaimable"}
"""The counts in `memory.stat` of what the kernel drops when memory runs out; in version 1 those that begin with
`total_` have the groups below in them."""
FREE_TIMEOUT_S = 2.0
"""The time that the kernel gets to free the memory of programs that have ended."""


@dataclass(frozen=True)
class ParentGroups:
    """The parent folders of slots' groups: one for each controller in version 1, the same in version 2.

    A controller that this process may not use is None.
    """

    version: int
    memory: Path | None
    pids: Path | None
    cpu: Path | None
    """Counts processor time: `cpuacct` in version 1."""
    shares: Path | None
    """Divides the processors among its groups, whatever the number of processes in each: `cpu` in version 1."""


class SlotGroup:
    """The groups of one slot. A process joins by writing to `procs_files`; `close` removes them once they are empty."""

    def __init__(self, parents: ParentGroups) -> None:
        self._version = parents.version
        name = f"agnostics-{os.getpid()}-{next(_numbers)}"
        self.memory = _create(parents.memory, name)
        self._pids = _create(parents.pids, name)
        self.cpu = _create(parents.cpu, name)
        self._shares = _create(parents.shares, name)

    @property
    def procs_files(self) -> list[Path]:
        """The files into which a process that joins writes its id."""
        return [folder / "cgroup.procs" for folder in self._folders()]

    @property
    def counters(self) -> list[Path]:
        """The folders of memory and of processor time."""
        return list(dict.fromkeys(folder for folder in (self.memory, self.cpu) if folder))

    @property
    def unenforced(self) -> tuple[str, ...]:
        return ("memory",) * (self.memory is None) + ("processes",) * (self._pids is None)

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Set the limits on memory (MiB, without swap) and on the number of processes."""
        if self._pids:
            (self._pids / "pids.max").write_text(str(processes))
        await_freed_memory(self.counters, memory_mb)
        if self.memory and self._version == 1:
            _set_memory_v1(self.memory, memory_mb << 20)
        elif self.memory:
            (self.memory / "memory.max").write_text(str(memory_mb << 20))

    def close(self) -> None:
        """Remove the groups; their last processes may take a moment to end."""
        deadline = time.monotonic() + 5
        for folder in self._folders():
            while not _remove(folder) and time.monotonic() < deadline:
                time.sleep(0.005)

    def _folders(self) -> list[Path]:
        return list(dict.fromkeys(folder for folder in (self.memory, self._pids, self.cpu, self._shares) if folder))


def find_parent_groups() -> ParentGroups:
    """The groups under which this process may create groups."""
    paths = dict(_own_groups())
    mounts = _mounts()
    if "memory" in mounts:
        return ParentGroups(1, *(_usable_group(mounts.get(name), paths.get(name, "/")) for name in _CONTROLLERS))
    root = mounts.get("")
    parent = _delegated_group(root, paths.get("", "/")) if root else None
    return ParentGroups(2, parent, parent, parent, parent if parent and "cpu" in _delegated(parent) else None)


def counters_of(pid: int) -> list[Path]:
    """The folders of memory and of processor time of a process, as far as they are found on this machine."""
    mounts = _mounts()
    try:
        paths = dict(_groups(Path("/proc", str(pid), "cgroup").read_text()))
    except OSError:
        return []
    names = ("memory", "cpuacct") if "memory" in mounts else ("",)
    folders = [mounts[name] / paths[name].lstrip("/") for name in names if name in mounts and name in paths]
    return [folder for folder in folders if _holds(folder, pid)]


def await_freed_memory(folders: Sequence[Path], limit_mb: int) -> None:
    """Wait until the groups hold less than `limit_mb` (MiB) beside what the kernel drops, at most FREE_TIMEOUT_S.

    The kernel frees timers, pipes and sockets some time after their program has ended. Until then it refuses a lower
    limit (version 1), or kills what is left in the group for it (version 2), which is the harness.
    """
    deadline = time.monotonic() + FREE_TIMEOUT_S
    while any(_held_bytes(folder) >= limit_mb << 20 for folder in folders) and time.monotonic() < deadline:
        time.sleep(0.005)


def _held_bytes(folder: Path) -> int:
    """The memory of a group without what the kernel drops; 0 for a folder of another controller."""
    try:
        usage = next((folder / name).read_text() for name in _MEMORY_USAGE if (folder / name).exists())
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return int(usage) - sum(int(counts.get(f"total_{name}", counts.get(name, 0))) for name in _DROPPABLE)
    except (OSError, StopIteration):
        return 0


def _holds(folder: Path, pid: int) -> bool:
    """Whether a process is in a group, and not in one of the same path elsewhere: inside a container paths differ."""
    with suppress(OSError):
        return str(pid) in (folder / "cgroup.procs").read_text().split()
    return False


@contextmanager
def harness_descriptors(slot: Sequence[Path], harness_user: int) -> Iterator[list[int]]:
    """Descriptors for a harness that stands in the groups `slot`, of memory and of processor time.

    If this process may make groups in them for programs, they are those of the programs' memory limits, then of the
    files by which threads join (version 1), then of the folders; else those of the folders of `slot`, to count by.
    `harness_user` is the harness's on this machine.
    """
    programs = _make_programs_groups(slot, harness_user)
    limits = [folder / name for folder in programs for name in _MEMORY_LIMITS]
    tasks = [folder / "tasks" for folder in programs]
    with ExitStack() as stack:
        descriptors = [*_open(limits, os.O_RDWR), *_open(tasks, os.O_WRONLY)]
        descriptors += _open(programs or slot, os.O_PATH | os.O_DIRECTORY)
        for descriptor in descriptors:
            stack.callback(os.close, descriptor)
        yield descriptors


def _make_programs_groups(slot: Sequence[Path], harness_user: int) -> list[Path]:
    """A group for programs in each of `slot`; none if one of them cannot be made, or none counts memory."""
    programs = [folder / _PROGRAMS for folder in slot]
    try:
        for folder in slot:
            if (folder / "cgroup.controllers").exists():
                _make_way(folder, harness_user)
            (folder / _PROGRAMS).mkdir()
            _hand_over(folder / _PROGRAMS, harness_user)
    except OSError:
        programs = []
    return programs if any((folder / "memory.stat").exists() for folder in programs) else []


def _make_way(slot: Path, harness_user: int) -> None:
    """Let a group of version 2 have groups with limits on memory: its processes move into one of them."""
    (slot / _HARNESS).mkdir()
    for process in (slot / "cgroup.procs").read_text().split():
        (slot / _HARNESS / "cgroup.procs").write_text(process)
    (slot / "cgroup.subtree_control").write_text("+memory")
    _hand_over(slot, harness_user)


def _hand_over(folder: Path, harness_user: int) -> None:
    """Let a harness that is another user start processes in a group of version 2."""
    if os.geteuid() == 0 and (folder / "cgroup.controllers").exists():
        os.chown(folder / "cgroup.procs", harness_user, -1)


def _open(paths: Sequence[Path], flags: int) -> Iterator[int]:
    for path in paths:
        with suppress(OSError):
            yield os.open(path, flags)


def remove_leftovers(parents: ParentGroups) -> None:
    """Remove the groups of dead processes."""
    for parent in {parents.memory, parents.pids, parents.cpu, parents.shares} - {None}:
        assert parent is not None
        for folder in parent.glob("agnostics-*-*"):
            if not Path("/proc", folder.name.split("-")[1]).exists():
                _remove(folder)


def _remove(folder: Path) -> bool:
    """Remove a slot's group with those in it. False while a process in it has not ended."""
    for group in (folder / _PROGRAMS, folder / _HARNESS, folder):
        with suppress(OSError):
            group.rmdir()
    return not folder.exists()


def _own_groups() -> list[tuple[str, str]]:
    """The groups of this process by controller ("" in version 2)."""
    return _groups(Path("/proc/self/cgroup").read_text())


def _groups(text: str) -> list[tuple[str, str]]:
    fields = [line.split(":", 2) for line in text.splitlines()]
    return [(controller, path) for _, controllers, path in fields for controller in controllers.split(",")]


def _mounts() -> dict[str, Path]:
    """The mount point of each controller ("" for version 2)."""
    mounts: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        filesystem, _, options = after.split(" ", 2)
        if filesystem == "cgroup2":
            mounts.setdefault("", Path(before.split()[4]))
        elif filesystem == "cgroup":
            mounts.update({c: Path(before.split()[4]) for c in options.split(",") if c in _CONTROLLERS})
    return mounts


def _usable_group(mount: Path | None, path: str) -> Path | None:
    """The group of this process; inside a container, which hides the groups above, the root of the mount."""
    candidates = [mount / path.lstrip("/"), mount] if mount else []
    return next((folder for folder in candidates if _may_create_groups(folder)), None)


def _may_create_groups(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)


def _delegated_group(root: Path, path: str) -> Path | None:
    """The nearest group from this process's upwards that delegates memory and pids and may be written to."""
    own = root / path.lstrip("/")
    for folder in (own, *own.parents):
        with suppress(OSError):
            if {"memory", "pids"} <= _delegated(folder) and _may_create_groups(folder):
                return folder
        if folder == root:
            break
    return None


def _delegated(folder: Path) -> set[str]:
    """The controllers that a group of version 2 delegates to the groups in it."""
    return set((folder / "cgroup.subtree_control").read_text().split())


def _create(parent: Path | None, name: str) -> Path | None:
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


def _set_memory_v1(folder: Path, size: int) -> None:
    """Version 1 never allows memory and swap together below memory alone, so the order depends on the direction."""
    names = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]
    if size > int((folder / names[0]).read_text()):
        names.reverse()
    for name in names:
        if (folder / name).exists():
            (folder / name).write_text(str(size))
