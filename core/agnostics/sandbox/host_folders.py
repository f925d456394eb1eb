"""The folders of this machine that programs see in bubblewrap mode: those of a language's toolchain, and no other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agnostics.sandbox.harness_binary import can_start
from agnostics.sandbox.toolchain import TOOLCHAIN_PATH
from agnostics.types.language import Language

SYSTEM_FOLDERS = (
    *("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/include", "/usr/share"),
    *("/usr/local/bin", "/usr/local/lib", "/usr/local/include"),
    *("/bin", "/lib", "/lib32", "/lib64", "/libx32"),
)
"""Programs, libraries and headers; not, for one, sources and settings in /usr/src and /usr/local/etc."""
OPTIONAL = (Path("/opt"), Path("/usr/local"))
"""A toolchain that is installed here gets its own folder of it."""
ETC_ENTRIES = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "R",
    "julia",
    "fonts",
    "localtime",
    "mime.types",
    "ocamlfind.conf",
)
"""The parts of /etc that toolchains need."""


class HostFolders:
    """The folders that programs see, if possible as overlays: then the files have inodes of the slot's own, and no lock
    or watch of a program reaches another slot or this machine.

    Overlays need a kernel with overlayfs, and without root user namespaces.
    """

    def __init__(self, harness: Path) -> None:
        self._mount_points = _mount_points()
        self._are_overlaid = can_overlay(harness)

    def of(self, language: Language) -> list[Path]:
        """The folders of the system, and those of the language's tools below `OPTIONAL`."""
        return [*map(Path, SYSTEM_FOLDERS), *_optional_folders(language)]

    def overlay(self, folders: Sequence[Path]) -> list[str]:
        """The harness's arguments that overlay `folders`, except those with other mounts below, which it would hide,
        /etc, and the devices, which only root may open on an overlay.
        """
        if not self._are_overlaid:
            return []
        covered = [str(path) for path in folders if path.is_dir() and not path.is_symlink() and self._is_whole(path)]
        return ["--overlay", *covered, "/etc", *(["/dev"] if os.geteuid() == 0 else [])]

    def _is_whole(self, folder: Path) -> bool:
        return not any(folder in point.parents for point in self._mount_points)


def bubblewrap_binds(folders: Sequence[Path]) -> list[str]:
    """The arguments that show `folders` to programs, read-only, and the parts of /etc that toolchains need."""
    arguments = _folders_above([Path("/etc/any"), *folders])
    for path in folders:
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    for name in ETC_ENTRIES:
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return arguments


def bubblewrap_system() -> list[str]:
    """The arguments that show the folders of the system, for a trial of bwrap.

    It cannot show "/" instead: bwrap sets the flags of each mount below, and fails if one ends meanwhile.
    """
    return bubblewrap_binds([Path(folder) for folder in SYSTEM_FOLDERS])


def bubblewrap_root(root: Path, source: str) -> list[str]:
    """The arguments that show what is in the folder `root` as the root of a slot, read-only, and nothing else; bwrap
    finds the folder at `source`.
    """
    arguments: list[str] = []
    for path in sorted(root.iterdir()):
        kind, shown = ("--symlink", path.readlink()) if path.is_symlink() else ("--ro-bind", f"{source}/{path.name}")
        arguments += [kind, str(shown), f"/{path.name}"]
    return arguments


def bubblewrap_mounts(mounts: Sequence[tuple[str, str]]) -> list[str]:
    """The arguments that show folders, (source, target) each, read-only at other paths."""
    arguments = _folders_above([Path(target) for _, target in mounts])
    for source, target in mounts:
        arguments += ["--ro-bind", source, target]
    return arguments


def _folders_above(paths: Sequence[Path]) -> list[str]:
    """The arguments that make the folders above `paths`, which bwrap's own mode would close to the slot's user."""
    parents = {parent for path in paths for parent in path.parents} - {Path("/")}
    return [word for parent in sorted(parents) for word in ("--perms", "0755", "--dir", str(parent))]


def _optional_folders(language: Language) -> list[Path]:
    """/opt/NAME or /usr/local/NAME for each tool that is a file below it, or a link to one."""
    tools = [shutil.which(name, path=TOOLCHAIN_PATH) for name in language.tools()]
    files = [Path(tool).resolve() for tool in tools if tool]
    found = {
        parent / file.relative_to(parent).parts[0] for file in files for parent in OPTIONAL if parent in file.parents
    }
    return sorted(found - set(map(Path, SYSTEM_FOLDERS)))


def _mount_points() -> list[Path]:
    with suppress(OSError):
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return [Path(line.split()[4]) for line in lines]
    return []


def can_overlay(harness: Path) -> bool:
    """Whether folders of this machine can be overlaid."""
    return can_start(harness, ["--overlay", "/usr"], ["true"])
