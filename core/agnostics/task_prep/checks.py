"""The checks that turn a draft into a task: each is a function that returns the reason of a rejection, or None."""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import category

from agnostics.inference.openai_client import EndpointCompletion
from agnostics.task_prep.draft import DraftRejected, TaskDraft, parse_draft, task_from_draft
from agnostics.task_prep.problem import FunctionProblem
from agnostics.task_prep.reference import reference_failure
from agnostics.types.task import Task
from agnostics.verify import Verifier

Check = Callable[[TaskDraft, FunctionProblem], str | None]


def checked_task(problem: FunctionProblem, completion: EndpointCompletion, model: str, verifier: Verifier) -> Task:
    """The task in the completion of `model` for `problem`. Raises DraftRejected with the first check that it fails."""
    draft = parse_draft(completion)
    for check in CHECKS:
        if reason := check(draft, problem):
            raise DraftRejected(check.__name__, reason)
    task = task_from_draft(problem, draft, model)
    if reason := reference_failure(problem, draft, task, verifier):
        raise DraftRejected("reference_passes", reason)
    return task


def is_plain_text(draft: TaskDraft, _: FunctionProblem) -> str | None:
    """Control characters are no part of a task, and hide its text."""
    texts = [draft.statement, *(text for test in draft.tests for text in (test.input, test.output))]
    odd = next((c for text in texts for c in text if category(c).startswith("C") and c not in "\n\r\t"), None)
    return odd and f"holds the character U+{ord(odd):04X}"


def has_all_sections(draft: TaskDraft, _: FunctionProblem) -> str | None:
    """The description and both formats are not blank."""
    parts = ("description", "input_format", "output_format")
    return next((f"{name} is blank" for name in parts if not getattr(draft, name).strip()), None)


def names_no_function(draft: TaskDraft, problem: FunctionProblem) -> str | None:
    """The statement does not call or define the Python function."""
    call = re.compile(rf"\b{re.escape(problem.entry)}\s*\(|\bdef {re.escape(problem.entry)}\b")
    return f"still asks for the function {problem.entry!r}" if call.search(draft.statement) else None


def has_consistent_tests(draft: TaskDraft, _: FunctionProblem) -> str | None:
    """No two tests have the same input and different outputs."""
    outputs = dict[str, str]()
    for number, test in enumerate(draft.tests, 1):
        output = " ".join(test.output.split())
        if outputs.setdefault(test.input.rstrip("\r\n"), output) != output:
            return f"test {number} has another output than an earlier test with the same input"
    return None


CHECKS: tuple[Check, ...] = (is_plain_text, has_all_sections, names_no_function, has_consistent_tests)
"""The checks that need no sandbox, in order."""
