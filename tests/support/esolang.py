"""Programs of the esoteric languages, and what runs them: their interpreters by themselves."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from agnostics_lang_esolangs import interpreter
from agnostics_lang_esolangs.interpreter import interpreter_path

BOTH = ("benchmark", "standard")
BENCHMARK, STANDARD = BOTH[:1], BOTH[1:]
OPEN, SPEAK = "Open your heart.", "Speak your mind."
Program = str | bytes


def run(
    language: str, program: Program, given: Program = b"", dialect: str = "benchmark", steps: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """What a program does; its file is called `program`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program"
        file.write_bytes(as_bytes(program))
        words = [
            str(interpreter_path(language)),
            "--dialect",
            dialect,
            *(() if steps is None else ("--steps", str(steps))),
        ]
        return subprocess.run([*words, str(file)], input=as_bytes(given), capture_output=True, timeout=60, check=False)


def as_bytes(text: Program) -> bytes:
    """The program in the file, where it is a text: UTF-8."""
    return text.encode() if isinstance(text, str) else text


def signs(letters: str) -> str:
    """A Whitespace program from the letters S, T and L; all else is left out."""
    return "".join({"S": " ", "T": "\t", "L": "\n"}.get(letter, "") for letter in letters)


def play(lines: str, *, stage: str = "[Enter Romeo and Juliet]", more: str = "") -> str:
    """A play in which Juliet speaks to Romeo."""
    people = "Romeo, a listener.\nJuliet, a speaker.\nThe Ghost, a ghost.\n"
    return f"A Play.\n{people}Act I: One.\nScene I: One.\n{stage}\nJuliet: {lines}\n{more}"


def contract(language: str) -> Path:
    """The folder of the programs of the contract suite."""
    return Path(interpreter.__file__).parent / "languages" / language / "contract"
