"""The public tests of a task: those on which a program is run before it counts, and which a policy may see."""

from __future__ import annotations

from agnostics.types.task import Task


def with_public_tests(task: Task, count: int) -> Task:
    """The task with its public tests alone: the first `count`, at most half of them, and one at least."""
    public = task.tests[: max(1, min(count, len(task.tests) // 2))]
    return task.model_copy(update={"tests": public})


def with_shown_tests(task: Task, count: int) -> Task:
    """The task with the public tests that a policy is shown: those of `with_public_tests`, but no task's only test.

    A program that prints the expected output of the only test would be accepted.
    """
    public = with_public_tests(task, count)
    return public if len(public.tests) < len(task.tests) else public.model_copy(update={"tests": ()})


def check_public_tests(count: int) -> None:
    """Raise ValueError unless there is one public test at least."""
    if count < 1:
        raise ValueError(f"public_tests = {count!r}: there must be one test at least")
