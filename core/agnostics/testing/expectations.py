"""Expectations of a language pack: programs, the verdicts they must get, and the results of checking them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from signal import SIGXCPU
from typing import Literal

from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.types.verification import Verdict, Verification
from agnostics.verify import Verifier

VERDICT_TIMEOUT_S = 3600
"""The time limit of one verdict, including the build of the language's image."""

ExpectationKind = Literal["contract", "reference", "shortcut"]
"""A program of the contract suite, a reference program of a task, or a program whose output only looks right."""


@dataclass(frozen=True)
class Expectation:
    """A program that must get one of the verdicts `expected`.

    `program` is None if the pack lacks it. With `or_steps`, a stop by the interpreter at its step limit counts too.
    """

    kind: ExpectationKind
    text: str
    language: Language
    program: str | None
    task: Task
    expected: frozenset[Verdict]
    or_steps: bool = False


@dataclass(frozen=True)
class ExpectationResult:
    """The result of an expectation, with the verdict and the reason as `failure` if it is not met."""

    kind: ExpectationKind
    text: str
    met: bool
    failure: str = ""


def exactly(verdict: str) -> frozenset[Verdict]:
    """Only this verdict."""
    return frozenset({Verdict(verdict)})


def check_all(expectations: Iterable[Expectation], verifier: Verifier) -> Iterator[ExpectationResult]:
    """Verify all programs concurrently, and yield the results in order.

    Raises MissingRequirement if they cannot be run on this machine.
    """
    futures = [(one, verifier.submit(one.language, one.program, one.task)) for one in expectations]
    for one, future in futures:
        yield _result(one, future.result(timeout=VERDICT_TIMEOUT_S))


def _result(expectation: Expectation, verification: Verification) -> ExpectationResult:
    kind, text = expectation.kind, expectation.text
    if verification.verdict in expectation.expected or (expectation.or_steps and _reached_step_limit(verification)):
        return ExpectationResult(kind, text, True)
    return ExpectationResult(kind, text, False, f"{verification.verdict}: {_reason(verification)}")


def _reached_step_limit(verification: Verification) -> bool:
    return any(test.verdict is Verdict.TIME_LIMIT and test.signal == SIGXCPU for test in verification.tests)


def _reason(verification: Verification) -> str:
    """The message of a verdict on one line."""
    if verification.program is None:
        return "the pack brings no such program"
    if verification.error:
        return verification.error
    if verification.compile and not verification.compile.ok:
        return _one_line(verification.compile.message)
    failed = [test for test in verification.tests if test.verdict is verification.verdict]
    if failed and failed[0].difference:
        difference = failed[0].difference
        return f"token {difference.index}: expected {difference.expected!r}, got {difference.actual!r}"
    return _one_line(failed[0].stderr) if failed else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
