"""The public tests of a task: those that a policy may see."""

from __future__ import annotations

from agnostics.types.task import Task


def with_public_tests(task: Task, count: int) -> Task:
    """The task with its public tests alone: the first `count`, at most half of them, and one at least."""
    public = task.tests[: max(1, min(count, len(task.tests) // 2))]
    return task.model_copy(update={"tests": public})
