"""One thing that a pack promises, tried: what was run, what became of it, and what should have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from signal import SIGXCPU
from typing import Literal

from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.types.verification import Verdict, Verification
from agnostics.verify import Verifier

ANSWER_S = 3600
"""How long one verdict may take, the making of the language's image included."""

Kind = Literal["contract", "right", "cheat"]
"""A program of the contract suite, a right program for a task, or a program whose output only looks right."""


@dataclass(frozen=True)
class Claim:
    """One thing that a pack promises, and what was found instead (`found`) where it does not hold."""

    kind: Kind
    text: str
    holds: bool
    found: str = ""


@dataclass(frozen=True)
class Case:
    """A program that is run to see whether a claim holds: its verdict is to be one of `expected`.

    `program` is None where the pack should bring one and does not. `or_steps`: that an interpreter stops it because its
    steps are used up is as good.
    """

    kind: Kind
    text: str
    language: Language
    program: str | None
    task: Task
    expected: frozenset[Verdict]
    or_steps: bool = False


def only(verdict: str) -> frozenset[Verdict]:
    """Just this verdict."""
    return frozenset({Verdict(verdict)})


def try_all(cases: Iterable[Case], verifier: Verifier) -> Iterator[Claim]:
    """Run the programs of all cases at once, and say of each in turn whether its claim holds.

    Raises MissingRequirement where they cannot be run here.
    """
    futures = [(case, verifier.submit(case.language, case.program, case.task)) for case in cases]
    for case, future in futures:
        yield _judged(case, future.result(timeout=ANSWER_S))


def _judged(case: Case, verification: Verification) -> Claim:
    if verification.verdict in case.expected or (case.or_steps and _used_its_steps(verification)):
        return Claim(case.kind, case.text, True)
    return Claim(case.kind, case.text, False, f"{verification.verdict}: {_reason(verification)}")


def _used_its_steps(verification: Verification) -> bool:
    return any(test.verdict is Verdict.TIME_LIMIT and test.signal == SIGXCPU for test in verification.tests)


def _reason(verification: Verification) -> str:
    """What there is to say about a verdict, on one line."""
    if verification.program is None:
        return "the pack brings no such program"
    if verification.error:
        return verification.error
    if verification.compile and not verification.compile.ok:
        return _line(verification.compile.message)
    failed = [test for test in verification.tests if test.verdict is verification.verdict]
    if failed and failed[0].difference:
        difference = failed[0].difference
        return f"token {difference.index}: expected {difference.expected!r}, got {difference.actual!r}"
    return _line(failed[0].stderr) if failed else ""


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
