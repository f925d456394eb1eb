"""What a run and a submission are: their limits, the task that is verified, and the data of their events."""

from __future__ import annotations

from typing import Any

from agnostics.referee.state import Reason
from agnostics.sandbox.job_codec import to_bytes
from agnostics.types.task import Comparison, Task, Test
from agnostics.types.verification import Verdict, Verification

MAX_PROGRAM_BYTES = 1 << 20
"""The largest program that is run or graded."""
MAX_INPUT_BYTES = 1 << 16
"""The largest input of a run."""


def why_too_large(program: str, stdin: str = "") -> Reason | None:
    """The reason why a program or its input is refused unseen, or None."""
    is_too_large = len(to_bytes(program)) > MAX_PROGRAM_BYTES or len(to_bytes(stdin)) > MAX_INPUT_BYTES
    return "too_large" if is_too_large else None


def task_of_run(problem: Task, stdin: str) -> Task:
    """The task of a run for `problem` on an input: any output is right, and the limits are those of the problem."""
    test = Test(input=stdin, output="")
    return Task(id="run", tests=(test,), compare=Comparison(mode="nothing"), limits=problem.limits)


def data_of_run(stdin: str, verification: Verification) -> dict[str, Any]:
    """The data of the event of a run."""
    exit_code = verification.tests[0].exit_code if verification.tests else None
    return {"input": stdin, "verdict": verification.verdict.value, "exit_code": exit_code}


def data_of_submission(verification: Verification) -> dict[str, Any]:
    """The data of the event of a submission, from its verification on every hidden test."""
    verdicts = [test.verdict for test in verification.tests]
    passed = verdicts.count(Verdict.ACCEPTED)
    return {"passed": passed, "total": len(verdicts), "verdicts": [verdict.value for verdict in verdicts]}
