"""The contract of a language pack: its right programs are accepted, and what is no program, or is wrong, is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from agnostics.language import Language
from agnostics.task import Task, Test
from agnostics.testing.cheats import MILLION, cheats_at, printing
from agnostics.verification import Verdict, Verification
from agnostics.verify import Verifier

ANSWER_S = 1800
"""How long one verdict may take, the making of the language's image included."""
PATIENCE_S = 10.0
GARBAGE = ")} this is no program in any language (({\n"
REFUSED = frozenset({Verdict.COMPILE_ERROR, Verdict.RUNTIME_ERROR, Verdict.WRONG_ANSWER})


@dataclass(frozen=True)
class Claim:
    """One thing that a pack promises, and what was found instead (`found`) where it does not hold."""

    text: str
    holds: bool
    found: str = ""

    kind: Literal["right", "wrong", "cheat"] = "wrong"
    """What was run: a right program, something that is none, or a program whose output only looks right."""


@dataclass(frozen=True)
class _Case:
    kind: Literal["right", "wrong", "cheat"]
    text: str
    language: Language
    program: str
    task: Task
    expected: frozenset[Verdict]


def check_language(language: Language, tasks: Iterable[Task], verifier: Verifier) -> Iterator[Claim]:
    """Try `language` on the first of `tasks` of each kind that it has a right program for, and cheat at the same tasks.

    Raises MissingRequirement where its programs cannot be run here.
    """
    solvable = list(_first_of_each_kind(language, tasks))
    if not solvable:
        yield Claim("there is a right program for at least one task", False, "none in reference/")
        return
    cases = [
        *(_right(language, task) for task in solvable),
        *_wrong(language, solvable[0]),
        *_cheats(language, solvable),
    ]
    futures = [(case, verifier.submit(case.language, case.program, case.task)) for case in cases]
    for case, future in futures:
        yield _claim(case, future.result(timeout=ANSWER_S))


def _first_of_each_kind(language: Language, tasks: Iterable[Task]) -> Iterator[Task]:
    wanted = set(language.reference)
    for task in tasks if wanted else ():
        if task.kind in wanted:
            wanted.remove(task.kind)
            yield _patient(task)
        if not wanted:
            return


def _patient(task: Task) -> Task:
    """`task` with time to spare: a pack is judged by what its programs do, however busy the machine is."""
    return task.model_copy(update={"limits": task.limits.model_copy(update={"run_s": PATIENCE_S})})


def _right(language: Language, task: Task) -> _Case:
    text, program = f"the right program for {task.kind} is accepted", _reference(language, task)
    return _Case("right", text, language, program, task, _only("accepted"))


def _wrong(language: Language, task: Task) -> Iterator[_Case]:
    right = _reference(language, task)
    longer = task.model_copy(update={"tests": tuple(Test(input=t.input, output=f"{t.output}\n1") for t in task.tests)})
    yield _Case("wrong", "an answer that lacks a token is wrong", language, right, longer, _only("wrong_answer"))
    yield _Case("wrong", "garbage is refused", language, GARBAGE, task, REFUSED)
    yield _Case("wrong", "a blank answer is no program", language, "\n", task, _only("no_program"))


def _cheats(language: Language, tasks: Iterable[Task]) -> Iterator[_Case]:
    for task in tasks:
        for what, output, single in cheats_at(task):
            shell, program = printing(language, output)
            yield _Case("cheat", f"{what} at {task.kind} is wrong", shell, program, single, _only("wrong_answer"))
    shell, program = printing(language, "1000001\n")
    yield _Case("cheat", "an integer off by one in a million is wrong", shell, program, MILLION, _only("wrong_answer"))


def _reference(language: Language, task: Task) -> str:
    program = language.reference_for(task)
    assert program is not None  # only tasks of kinds with a right program get here
    return program


def _only(verdict: str) -> frozenset[Verdict]:
    return frozenset({Verdict(verdict)})


def _claim(case: _Case, verification: Verification) -> Claim:
    if verification.verdict in case.expected:
        return Claim(case.text, True, kind=case.kind)
    return Claim(case.text, False, f"{verification.verdict}: {_reason(verification)}", case.kind)


def _reason(verification: Verification) -> str:
    """What there is to say about a verdict, on one line."""
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
