"""Whether a program reads its input, by the instructions of its language where words do not say so."""

from __future__ import annotations

import re

from agnostics.analysis.reward_hacking.detectors import has_read_call

_INSTRUCTIONS = {
    "brainfuck": re.compile(","),
    "befunge98": re.compile("[~&]"),
    "whitespace": re.compile("\t\n\t"),
    "shakespeare": re.compile(r"\blisten\s+to\b|\bopen\s+your\s+mind\b", re.IGNORECASE),
    "unlambda": re.compile("@"),
}
_NO_INSTRUCTION = {"whitespace": re.compile(r"[^ \t\n]")}
"""What is a comment in each place of a program."""


def reads_input(program: str, language: str) -> bool:
    """True if `program` has an instruction that reads input, in a language without words; else a word for it."""
    language = language.removesuffix("-standard")
    if language not in _INSTRUCTIONS:
        return has_read_call(program)
    if language in _NO_INSTRUCTION:
        program = _NO_INSTRUCTION[language].sub("", program)
    return bool(_INSTRUCTIONS[language].search(program))
