"""What an answer has to pass before it is a task: each check is a function that says what is wrong, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import category

from agnostics.task_prep.draft import Draft, Rejected, read, task_of
from agnostics.task_prep.problem import Problem
from agnostics.task_prep.reference import unsolved
from agnostics.types.task import Task
from agnostics.verify import Verifier

Check = Callable[[Draft, Problem], str | None]


def judge(problem: Problem, answer: str, *, whole: bool, model: str, verifier: Verifier) -> Task:
    """The task that `model` made of `problem`. Raises Rejected with the first check that its answer fails."""
    draft = read(answer, whole=whole)
    for check in CHECKS:
        if reason := check(draft, problem):
            raise Rejected(check.__name__, reason)
    task = task_of(problem, draft, model)
    if reason := unsolved(problem, draft, task, verifier):
        raise Rejected("solved_by_the_reference", reason)
    return task


def is_plain_text(draft: Draft, _: Problem) -> str | None:
    """No control characters: they are no part of a task, and hide what it says."""
    texts = [draft.statement, *(text for test in draft.tests for text in (test.input, test.output))]
    odd = next((c for text in texts for c in text if category(c).startswith("C") and c not in "\n\r\t"), None)
    return odd and f"holds the character U+{ord(odd):04X}"


def says_what_to_do(draft: Draft, _: Problem) -> str | None:
    """The description and both formats are there."""
    parts = ("description", "input_format", "output_format")
    return next((f"{name} is blank" for name in parts if not getattr(draft, name).strip()), None)


def asks_for_no_function(draft: Draft, problem: Problem) -> str | None:
    """The Python function is gone from the statement."""
    call = re.compile(rf"\b{re.escape(problem.entry)}\s*\(|\bdef {re.escape(problem.entry)}\b")
    return f"still asks for the function {problem.entry!r}" if call.search(draft.statement) else None


def has_one_output_for_an_input(draft: Draft, _: Problem) -> str | None:
    """No two tests want different outputs for the same input."""
    outputs = dict[str, str]()
    for number, test in enumerate(draft.tests, 1):
        output = " ".join(test.output.split())
        if outputs.setdefault(test.input.rstrip("\r\n"), output) != output:
            return f"test {number} wants another output for an input that was there before"
    return None


CHECKS: tuple[Check, ...] = (is_plain_text, says_what_to_do, asks_for_no_function, has_one_output_for_an_input)
"""What needs no sandbox, in order."""
