"""The checker's slot as a language of the sandbox: Python with the packages of mathematics, forked for each pair."""

from __future__ import annotations

from agnostics.math.packages import antlr_version, archive
from agnostics.types.language import ForkServer, Language
from agnostics.types.task import LimitOverrides

_ARCHIVE, _MAIN = "packages.zip", "main.py"
_HELD_AT = "answers"  # slot.py, which needs packages that may be missing here
_PROGRAM = """\
import sys
from importlib import metadata

# It would hold the archive open, and forks share no descriptor.
metadata.version = {{"antlr4-python3-runtime": {antlr!r}}}.__getitem__
sys.path.insert(0, f"{{sys.path[0]}}/{archive}")
from agnostics.math.slot import main

main()
"""


class CheckerLanguage(Language):
    """Python 3.10 or newer, with the archive of packages beside its program."""

    def support_files(self) -> dict[str, bytes]:
        """The archive and the program that uses it. Raises MissingRequirement if a package is not installed here."""
        program = _PROGRAM.format(antlr=antlr_version(), archive=_ARCHIVE)
        return {_MAIN: program.encode(), _ARCHIVE: archive()}


CHECKER = CheckerLanguage(
    name="math-checker",
    prompt="",
    filename=_HELD_AT,
    install="apt-get install -y --no-install-recommends python3",
    execute=f"python3 -s -S -B {_MAIN}",
    fork_server=ForkServer(),
    environment={"PYTHONHASHSEED": "0"},  # so that the order of sets, and with it what sympy does, is the same
    # The slot's program limits itself (slot.py); the rest is for the start of an interpreter that cannot be forked.
    limits=LimitOverrides(run_s=20, memory_mb=512, output_bytes=4096, processes=4),
)
