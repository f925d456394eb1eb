"""Folders that hold all that is in a slot's root: some programs of this machine, what they load, and nothing else."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agnostics.sandbox.toolchain import TOOLCHAIN_PATH
from agnostics.types.errors import MissingRequirement
from agnostics.util.locks import exclusive_lock
from agnostics.util.paths import cache_folder

_LDD_TIMEOUT_S = 60
_MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
"""Folders of the root that are links into /usr on most machines."""
_LIBRARY = re.compile(r"(?:=> |^\s+)(/\S+) \(0x", re.MULTILINE)


def make_root(
    programs: Iterable[str], folders: Iterable[Path] = (), without: Sequence[str] = (), others: Iterable[Path] = ()
) -> Path:
    """A folder in the cache with these programs of this machine, these folders but nothing in them called as in
    `without`, these other files, and the libraries that any of them loads. Its name is a digest of what it holds.

    Raises MissingRequirement if a program is not installed.
    """
    found = {name: find_program(name) for name in programs}
    contents = [path for folder in folders for path in files_below(folder, frozenset(without))]
    files = {place: path for name, path in found.items() for place in _places(name, path)}
    files |= {_without_links(path): path for path in (*contents, *others)}
    loaders = [path for path in contents if ".so" in path.suffixes or os.access(path, os.X_OK)]
    files |= {_without_links(path): path for path in loaded_by([*found.values(), *loaders])}
    target = cache_folder() / "roots" / _digest(files)
    with exclusive_lock("roots"):
        if not target.exists():
            _make(target, files)
    return target


def find_program(name: str) -> Path:
    """A program of this machine's system. Raises MissingRequirement if there is none."""
    path = shutil.which(name, path=TOOLCHAIN_PATH)
    if path is None:
        raise MissingRequirement(f"{name} is not on this machine, so no sandbox can have a copy of it; install it")
    return Path(path)


def _places(name: str, program: Path) -> list[Path]:
    """Where a program stands: under the name by which it was found, and under that of its file."""
    return [Path("/usr/bin", name), Path("/usr/bin", program.resolve().name)]


def files_below(folder: Path, without: frozenset[str]) -> Iterator[Path]:
    """The files below a folder, but nothing that is called as in `without`."""
    for path in sorted(folder.iterdir()):
        if path.name in without:
            continue
        if path.is_dir():
            yield from files_below(path, without)
        elif path.is_file():
            yield path


def loaded_by(files: Sequence[Path]) -> list[Path]:
    """The libraries that the dynamic linker loads for these programs and libraries, and the linker itself."""
    if not files:
        return []
    listing = subprocess.run(
        ["ldd", *map(str, files)], capture_output=True, text=True, timeout=_LDD_TIMEOUT_S, check=False
    ).stdout
    return [Path(path) for path in sorted(set(_LIBRARY.findall(listing)))]


def _without_links(path: Path) -> Path:
    """The path of a file below folders that are no links."""
    return path.parent.resolve() / path.name


def _digest(files: Mapping[Path, Path]) -> str:
    digest = hashlib.sha256()
    for place, path in sorted(files.items()):
        status = path.stat()
        digest.update(f"{place}\0{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _make(target: Path, files: Mapping[Path, Path]) -> None:
    """Copy the files into `target` in one step."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as parent:
        root = Path(parent, "root")
        root.mkdir()
        for place, path in files.items():
            copy = root / place.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        for name in _MERGED if files else ():
            link = Path("/", name)
            if link.is_symlink() and not (root / name).exists():
                (root / name).symlink_to(link.readlink())
        root.rename(target)
