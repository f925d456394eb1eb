"""A program with a failed verdict, the message of its compiler or run, and its first wrong output."""

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
"""The verdicts of failed programs. An answer without a program and a failed sandbox are not among them."""

_DETAIL = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|\d+")


@dataclass(frozen=True, slots=True)
class FailedProgram:
    """A program with a failed verdict, the `message` of its compiler or run, and the `difference` of its output."""

    program: str
    verdict: Verdict
    message: str = ""
    difference: Difference | None = None

    @property
    def shape(self) -> str:
        """The error line of the message without names and numbers: equal for equal mistakes."""
        return _DETAIL.sub("…", error_line(self.message))[:200]


def failed_program_of(verification: Verification) -> FailedProgram | None:
    """The failed program of `verification`; None if there is no program, or its verdict is not a failure."""
    verdict, program = verification.verdict, verification.program
    if program is None or verdict not in FAILED_VERDICTS:
        return None
    if verdict is Verdict.COMPILE_ERROR:
        return FailedProgram(program, verdict, verification.compile.message if verification.compile else "")
    test = next((test for test in verification.tests if test.verdict is verdict), TestResult(verdict))
    return FailedProgram(program, verdict, run_message(test.stderr, test.exit_code, test.signal), test.difference)


def error_line(message: str) -> str:
    """The most informative line of a compiler's or a run's message: the first that mentions an error, else the first.

    A line that ends in a colon is joined with the next one, which holds the reason, unless that is a quotation.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    place = next((place for place, line in enumerate(lines) if "error" in line.lower()), 0)
    first, second = [*lines[place : place + 2], "", ""][:2]
    return f"{first} {second}" if first.endswith(":") and second and second[0] not in "\"'`" else first


def run_message(stderr: str, exit_code: int | None, signal: int | None) -> str:
    """The standard error of a run, or its exit status or signal if it printed nothing there."""
    if stderr.strip():
        return stderr
    if signal:
        return f"ended by signal {signal}"
    return f"exit status {exit_code}" if exit_code else ""
