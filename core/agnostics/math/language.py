"""The checker's slot as a language of the sandbox: Python with the packages of mathematics, forked for each pair."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agnostics.math.packages import antlr_version
from agnostics.types.language import ForkServer, Language
from agnostics.types.task import LimitOverrides

_ARCHIVE, _MAIN = "packages.zip", "main.py"
_HELD_AT = "answers"  # slot.py, which needs packages that may be missing here
_START = """\
import sys
from importlib import metadata

# It would hold the archive open, and forks share no descriptor.
metadata.version = {{"antlr4-python3-runtime": {antlr!r}}}.__getitem__
archive = f"{{sys.path[0]}}/{archive}"
sys.path.insert(0, archive)
"""
_COMPARE = """\
from agnostics.math.slot import main

main()
"""
_COMPILE = """\
from agnostics.math.compilation import main

main(archive)
"""
TAG_PROGRAM = "import importlib.util; print(importlib.util.MAGIC_NUMBER.hex())"
"""A program that prints what tells compiled code of one version of Python from that of another."""


class PythonWithPackages(Language):
    """Python 3.10 or newer, with an archive of packages beside its program."""

    packages: Annotated[bytes, Field(exclude=True, repr=False)]
    main: Annotated[str, Field(exclude=True, repr=False)] = _COMPARE
    """What its program does once it can import the packages."""

    def support_files(self) -> dict[str, bytes]:
        """The archive and the program."""
        start = _START.format(antlr=antlr_version(), archive=_ARCHIVE)
        return {_MAIN: (start + self.main).encode(), _ARCHIVE: self.packages}


def checker_language(packages: bytes) -> PythonWithPackages:
    """What compares the answers on its standard input, with the archive `packages`."""
    return PythonWithPackages(
        name="math-checker",
        prompt="",
        filename=_HELD_AT,
        install="apt-get install -y --no-install-recommends python3",
        execute=f"python3 -s -S -B {_MAIN}",
        fork_server=ForkServer(),
        environment={"PYTHONHASHSEED": "0"},  # the order of sets, and with it what sympy does, is always the same
        # The slot's program limits itself (slot.py); the rest is for the start of Python where it cannot be forked.
        limits=LimitOverrides(run_s=20, memory_mb=512, output_bytes=4096, processes=4),
        packages=packages,
    )


def compiler_language(packages: bytes) -> PythonWithPackages:
    """What writes the archive `packages` compiled, in the same image."""
    limits = LimitOverrides(run_s=120, memory_mb=1024, output_bytes=100 << 20)
    changes = {"fork_server": None, "limits": limits, "main": _COMPILE}
    return checker_language(packages).model_copy(update=changes)


def tag_language(packages: bytes) -> PythonWithPackages:
    """What prints the tag of the sandbox's Python, in the same image."""
    return compiler_language(packages).model_copy(update={"packages": b"", "main": TAG_PROGRAM})
