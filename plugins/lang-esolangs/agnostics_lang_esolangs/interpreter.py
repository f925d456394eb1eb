"""Languages with an interpreter in the pack: a static program that needs nothing of the image."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Annotated

from agnostics import Language, MissingRequirement
from pydantic import Field

INTERPRETERS = ("befunge98", "brainfuck", "shakespeare", "unlambda", "whitespace")


class EsoLanguage(Language):
    """A language of this pack: its programs are run by `./interpreter`, which lies beside them."""

    interpreter: Annotated[str, Field(exclude=True)]
    """One of `INTERPRETERS`; no key of a language's file."""

    def is_empty(self, program: str) -> bool:
        """Whether `program` is blank; in Whitespace, whether it is the empty text."""
        return not program if self.interpreter == "whitespace" else super().is_empty(program)

    def support_files(self) -> dict[str, bytes]:
        """The interpreter. Raises MissingRequirement if it was not built."""
        return {"interpreter": _content(interpreter_path(self.interpreter))}


def interpreter_path(name: str) -> Path:
    """The interpreter for this processor. Raises MissingRequirement if it was not built."""
    path = Path(__file__).parent / "bin" / f"{name}-{platform.machine()}"
    if not path.exists():
        command = "pip install --force-reinstall --no-deps agnostics-lang-esolangs"
        raise MissingRequirement(f"the interpreter of {name} is missing ({path}); run: {command}")
    return path


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()
