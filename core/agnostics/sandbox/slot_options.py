"""What a session may ask of its slot beyond what programs have: folders, a network of its own, another root."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agnostics.types.errors import UsageError

_TAKEN = ("/w", "/tmp", "/proc", "/dev", "/sys", "/etc", "/usr", "/bin", "/lib", "/run")
"""Folders of a slot that a mount would hide, or that would hide it."""


@dataclass(frozen=True)
class Mount:
    """A folder of this machine, and the path at which commands in the slot see it, read-only.

    If it is `private` it serves one slot at a time: other users of this machine than its owner and the slot's cannot
    enter it, and its sockets can be connected to. Raises UsageError for a path at which nothing can be mounted.
    """

    source: Path
    target: str
    private: bool = False

    def __post_init__(self) -> None:
        path = PurePosixPath(self.target)
        if not path.is_absolute() or ".." in path.parts or str(path) in {"/", "//"}:
            raise UsageError(f"{self.target!r} is no path at which a folder can be mounted in a sandbox")
        if any(path.is_relative_to(taken) for taken in _TAKEN):
            raise UsageError(f"a sandbox has a {path.parts[1]} of its own; mount {self.source} elsewhere")

    def give_to(self, user: int | None, harness: int | None) -> None:
        """Let the slot's `user`, and the user that its harness is, enter a private folder; None is this process's own.

        Only root can make it the slot's alone: else a folder above has to keep others out.
        """
        if not self.private:
            return
        if user is None:
            self.source.chmod(0o700)
        elif os.geteuid() == 0:
            os.chown(self.source, -1 if harness is None else harness, user)
            self.source.chmod(0o750)
        else:
            self.source.chmod(0o755)


@dataclass(frozen=True)
class SlotOptions:
    """What the slots of a session pool have beyond those of programs."""

    mounts: tuple[Mount, ...] = ()
    loopback: bool = False
    """True if commands may use TCP over IPv4, which reaches nothing but the slot itself."""
    root: Path | None = None
    """A folder that holds all that is in the slot's root, in place of a toolchain; its name is a digest of that."""
    path: tuple[str, ...] = ()
    """Folders in the slot that stand before those of `PATH`."""
    file_tool: str | None = None
    """The path in the slot of a program that carries files by its commands `unpack`, `pack` and `read`, in place of
    `sh`, `tar` and `dd`."""
