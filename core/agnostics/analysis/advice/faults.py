"""Faulty programs, and a choice of them that shows as many different faults as it can."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from agnostics.types.verification import Difference, TestResult, Verdict, Verification

T = TypeVar("T")

FAULTY = (
    Verdict.COMPILE_ERROR,
    Verdict.MEMORY_LIMIT,
    Verdict.OUTPUT_LIMIT,
    Verdict.TIME_LIMIT,
    Verdict.RUNTIME_ERROR,
    Verdict.WRONG_ANSWER,
)
"""The verdicts of programs that ran, or should have, and were wrong."""

_DETAIL = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|\d+")


@dataclass(frozen=True, slots=True)
class Fault:
    """A program that was judged wrong: what the compiler or the run said, and where its output first went wrong."""

    program: str
    verdict: Verdict
    message: str = ""
    difference: Difference | None = None

    @property
    def shape(self) -> str:
        """The line of the message that tells most, without names and numbers: equal for equal mistakes."""
        return _DETAIL.sub("…", telling_line(self.message))[:200]


def fault_in(verification: Verification) -> Fault | None:
    """What was wrong with the program of `verification`; None where there is no program, or nothing against it."""
    verdict, program = verification.verdict, verification.program
    if program is None or verdict not in FAULTY:
        return None
    if verdict is Verdict.COMPILE_ERROR:
        return Fault(program, verdict, verification.compile.message if verification.compile else "")
    test = next((test for test in verification.tests if test.verdict is verdict), TestResult(verdict))
    return Fault(program, verdict, run_message(test.stderr, test.exit_code, test.signal), test.difference)


def telling_line(message: str) -> str:
    """The line of a compiler's or a run's message that tells most: the first with an error, else the first.

    With the next where it ends in a colon and that is no quotation: what was wrong is said there.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    place = next((place for place, line in enumerate(lines) if "error" in line.lower()), 0)
    first, second = [*lines[place : place + 2], "", ""][:2]
    return f"{first} {second}" if first.endswith(":") and second and second[0] not in "\"'`" else first


def run_message(stderr: str, exit_code: int | None, signal: int | None) -> str:
    """What a run said, or how it ended where it failed without a word."""
    if stderr.strip():
        return stderr
    if signal:
        return f"ended by signal {signal}"
    return f"exit status {exit_code}" if exit_code else ""


def choose(faults: Iterable[Fault], count: int) -> list[Fault]:
    """At most `count` of `faults`, no program twice: verdicts in turn, and in each the shapes of messages in turn.

    The commonest shapes come first, and of each shape the first programs. The same faults give the same choice.
    """
    by_verdict: dict[Verdict, dict[str, list[Fault]]] = {verdict: {} for verdict in FAULTY}
    programs = set[str]()
    for fault in faults:
        if fault.program not in programs:
            programs.add(fault.program)
            by_verdict[fault.verdict].setdefault(fault.shape, []).append(fault)
    shapes = (sorted(shapes.values(), key=len, reverse=True) for shapes in by_verdict.values())
    return list(islice(_in_turn([list(_in_turn(alike)) for alike in shapes]), count))


def _in_turn(rows: Sequence[Sequence[T]]) -> Iterator[T]:
    """The first of every row, then the second of every row that has one, and so on."""
    place = 0
    while rows := [row for row in rows if place < len(row)]:
        yield from (row[place] for row in rows)
        place += 1
