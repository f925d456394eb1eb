"""Programs with a failing verdict, with the message and the first difference that say why."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agnostics.types.verification import Difference, TestResult, Verdict, Verification

FAILED_VERDICTS = (
    Verdict.COMPILE_ERROR,
    Verdict.MEMORY_LIMIT,
    Verdict.OUTPUT_LIMIT,
    Verdict.TIME_LIMIT,
    Verdict.RUNTIME_ERROR,
    Verdict.WRONG_ANSWER,
)
"""The verdicts of programs that were compiled or run, and were wrong."""

_SPECIFICS = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|\d+")


@dataclass(frozen=True, slots=True)
class FailedProgram:
    """A program with a failing verdict, the message of the compiler or of the run, and the first difference."""

    program: str
    verdict: Verdict
    message: str = ""
    difference: Difference | None = None

    @property
    def message_pattern(self) -> str:
        """The most informative line of the message without names and numbers: equal for equal mistakes."""
        return _SPECIFICS.sub("…", most_informative_line(self.message))[:200]


def failed_program_of(verification: Verification) -> FailedProgram | None:
    """The failed program of `verification`; None if there is no program, or its verdict is none of FAILED_VERDICTS."""
    verdict, program = verification.verdict, verification.program
    if program is None or verdict not in FAILED_VERDICTS:
        return None
    if verdict is Verdict.COMPILE_ERROR:
        return FailedProgram(program, verdict, verification.compile.message if verification.compile else "")
    test = next((test for test in verification.tests if test.verdict is verdict), TestResult(verdict))
    return FailedProgram(program, verdict, run_message(test.stderr, test.exit_code, test.signal), test.difference)


def most_informative_line(message: str) -> str:
    """The first line of a compiler's or a run's message that names an error, else its first line.

    With the line after it if it ends in a colon and that line is no quotation: the error is described there.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    place = next((place for place, line in enumerate(lines) if "error" in line.lower()), 0)
    first, second = [*lines[place : place + 2], "", ""][:2]
    return f"{first} {second}" if first.endswith(":") and second and second[0] not in "\"'`" else first


def run_message(stderr: str, exit_code: int | None, signal: int | None) -> str:
    """The stderr of a run; if that is blank, its exit status or signal."""
    if stderr.strip():
        return stderr
    if signal:
        return f"ended by signal {signal}"
    return f"exit status {exit_code}" if exit_code else ""
