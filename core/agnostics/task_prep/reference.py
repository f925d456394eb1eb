"""Whether a problem's reference solution, called on the inputs of the reformulated task, gives its outputs.

The reference comes from a data set and the tests from a model: both are run, and compared, in the sandbox only.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from agnostics.task_prep import reference_runner
from agnostics.task_prep.draft import Draft
from agnostics.task_prep.problem import Problem
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task
from agnostics.types.verification import TestResult, Verdict
from agnostics.verify import Verifier

_BOOLEANS = (
    *(("True", "False"), ("true", "false"), ("TRUE", "FALSE")),
    *(("Yes", "No"), ("YES", "NO"), ("yes", "no"), ("1", "0")),
)
_PYTHON = Language(
    name="python",
    prompt="Use Python 3.",
    install="apt-get install -y python3",
    filename="solution.py",
    execute="python3 -S -B solution.py",
    environment={"PYTHONHASHSEED": "0"},
    limits=LimitOverrides(run_s=10.0),
)
"""For this check alone: solutions need no packages, and the order of a set is to be the same every time."""
_SHOWN = 60


def unsolved(problem: Problem, draft: Draft, task: Task, verifier: Verifier) -> str | None:
    """Why the reference solution does not solve `task`, which was made of `draft`; None if it does."""
    verification = verifier.verify(_PYTHON, program_for(problem, draft), task)
    if verification.accepted:
        return None
    if verification.verdict is Verdict.SANDBOX_ERROR:
        return f"the sandbox failed: {verification.error}"
    number, test = next((n, t) for n, t in enumerate(verification.tests, 1) if t.verdict is verification.verdict)
    return _reason(number, test)


def program_for(problem: Problem, draft: Draft) -> str:
    """The Python program that solves the task by calling the reference."""
    inputs = [test.input for test in draft.tests]
    arguments = (problem.code, problem.entry, problem.tests, inputs, spelling_of(draft))
    return f"{_runner()}\nsolve{arguments!r}\n"


def spelling_of(draft: Draft) -> tuple[str, str, bool]:
    """How the outputs of `draft` spell what can be spelt in several ways: the first pair of words that all are in."""
    words = {word for test in draft.tests for word in test.output.split()}
    true, false = next((pair for pair in _BOOLEANS if words & {*pair}), _BOOLEANS[0])
    return true, false, not draft.has_decimals


@cache
def _runner() -> str:
    return Path(reference_runner.__file__).read_text(encoding="utf-8")


def _reason(number: int, test: TestResult) -> str:
    if test.verdict is Verdict.RUNTIME_ERROR:
        said = test.stderr.strip().splitlines() or [f"exit status {test.exit_code}"]
        return _plain(said[-1], 4 * _SHOWN)
    if test.verdict is Verdict.WRONG_ANSWER and test.difference:
        expected, actual = _plain(test.difference.expected), _plain(test.difference.actual)
        return f"the output of test {number} is {expected!r} where the reference has {actual!r}"
    return f"the reference on test {number}: {test.verdict}"


def _plain(text: str, size: int = _SHOWN) -> str:
    shown = text if len(text) <= size else f"{text[:size]}…"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
