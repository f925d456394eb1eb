"""The check of a reformulated task by its reference solution: called on the inputs, it must give the outputs.

The reference comes from a data set and the tests from a model: both are run and compared only in the sandbox.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from agnostics.task_prep import reference_runner
from agnostics.task_prep.draft import TaskDraft
from agnostics.task_prep.problem import FunctionProblem
from agnostics.traces.python import PYTHON
from agnostics.types.task import Task
from agnostics.types.verification import TestResult, Verdict
from agnostics.verify import Verifier

_BOOLEANS = (
    *(("True", "False"), ("true", "false"), ("TRUE", "FALSE")),
    *(("Yes", "No"), ("YES", "NO"), ("yes", "no"), ("1", "0")),
)
_MAX_CHARS = 60


def reference_failure(problem: FunctionProblem, draft: TaskDraft, task: Task, verifier: Verifier) -> str | None:
    """The reason why the reference solution fails `task`, which was built from `draft`; None if it passes."""
    verification = verifier.verify(PYTHON, reference_program(problem, draft), task)
    if verification.accepted:
        return None
    if verification.verdict is Verdict.SANDBOX_ERROR:
        return f"the sandbox failed: {verification.error}"
    number, test = next((n, t) for n, t in enumerate(verification.tests, 1) if t.verdict is verification.verdict)
    return _reason(number, test)


def reference_program(problem: FunctionProblem, draft: TaskDraft) -> str:
    """The Python program that solves the task by calling the reference."""
    inputs = [test.input for test in draft.tests]
    arguments = (problem.code, problem.entry, problem.tests, inputs, output_format(draft))
    return f"{_runner()}\nsolve{arguments!r}\n"


def output_format(draft: TaskDraft) -> tuple[str, str, bool]:
    """The spelling of booleans and whole floats in the outputs of `draft`; see `reference_runner.OutputFormat`."""
    words = {word for test in draft.tests for word in test.output.split()}
    true, false = next((pair for pair in _BOOLEANS if words & {*pair}), _BOOLEANS[0])
    return true, false, not draft.has_decimals


@cache
def _runner() -> str:
    return Path(reference_runner.__file__).read_text(encoding="utf-8")


def _reason(number: int, test: TestResult) -> str:
    if test.verdict is Verdict.RUNTIME_ERROR:
        lines = test.stderr.strip().splitlines() or [f"exit status {test.exit_code}"]
        return _printable(lines[-1], 4 * _MAX_CHARS)
    if test.verdict is Verdict.WRONG_ANSWER and test.difference:
        expected, actual = _printable(test.difference.expected), _printable(test.difference.actual)
        return f"the output of test {number} is {expected!r}, that of the reference {actual!r}"
    return f"the reference on test {number}: {test.verdict}"


def _printable(text: str, size: int = _MAX_CHARS) -> str:
    shown = text if len(text) <= size else f"{text[:size]}…"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
