"""A copy of this machine's Python that runs in any root: what agents in Python bring into their box."""

from __future__ import annotations

import shutil
from pathlib import Path

from agnostics.players.host_languages import PYTHON_WITHOUT, python_folders
from agnostics.sandbox.root_folder import files_below, find_program, loaded_by
from agnostics.types.errors import MissingRequirement

_START = """\
#!/bin/sh
home=${{0%/bin/*}}
exec "$home/lib/{loader}" --library-path "$home/lib" --argv0 "$0" "$home/bin/{program}" "$@"
"""
"""Starts the interpreter with the libraries beside it, and as `sys.executable`, so that what it starts has them too."""
_PROGRAM = "python3-program"
_WHEELS = tuple(
    f"lib{name}" for name in ("dl.so.2", "gcc_s.so.1", "pthread.so.0", "rt.so.1", "stdc++.so.6", "util.so.1")
)
"""What wheels may load beside what the interpreter loads (the manylinux profiles)."""


def python_of_this_machine() -> Path:
    """The Python that is copied. Raises MissingRequirement if there is none in a folder of the system."""
    return find_program("python3")


def copy_python(folder: Path) -> None:
    """Make `folder` a Python with its standard library, started by `bin/python3` wherever the folder then stands.

    Its `bin/python3` needs `/bin/sh`. Raises MissingRequirement if this machine has no Python that can be copied.
    """
    library, static = python_folders()
    modules = list(files_below(library, frozenset({*PYTHON_WITHOUT, static.name} - {"__pycache__"})))
    program = python_of_this_machine()
    libraries = loaded_by([program, *(path for path in modules if ".so" in path.suffixes)])
    loader = next((path for path in libraries if path.name.startswith("ld-linux")), None)
    if loader is None:
        raise MissingRequirement(f"{program} is not dynamically linked with the GNU C library, so it cannot be copied")
    for path in modules:
        _copy(path, folder / "lib" / library.name / path.relative_to(library))
    beside = [folder_ / name for folder_ in {path.parent for path in libraries} for name in _WHEELS]
    for path in (*(path for path in beside if path.exists()), *libraries):
        _copy(path, folder / "lib" / path.name)
    _copy(program, folder / "bin" / _PROGRAM)
    start = folder / "bin" / "python3"
    start.write_text(_START.format(loader=loader.name, program=_PROGRAM), encoding="ascii")
    start.chmod(0o755)


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, to)
